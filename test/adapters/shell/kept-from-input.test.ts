import { describe, expect, it } from 'vitest';
import { keptFromInput } from '../../../src/adapters/shell/input/kept-from-input.ts';

describe('variables that the input never sets', () => {
  it.each([
    ...['PATH', 'Path', 'PATHEXT', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'LIBPATH', 'GCONV_PATH'],
    ...['BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS', 'IFS', 'PS4', 'PROMPT_COMMAND', 'BASH_FUNC_ls', 'ZDOTDIR', 'SHELL'],
    ...[
      'NODE_OPTIONS',
      'NODE_PATH',
      'NODE_EXTRA_CA_CERTS',
      'PYTHONSTARTUP',
      'PYTHONPATH',
      'PYTHONHOME',
      'PYTHONBREAKPOINT',
    ],
    ...[
      'PERL5OPT',
      'PERL5LIB',
      'RUBYOPT',
      'RUBYLIB',
      'JAVA_TOOL_OPTIONS',
      '_JAVA_OPTIONS',
      'JDK_JAVA_OPTIONS',
      'CLASSPATH',
    ],
    ...['GIT_SSH_COMMAND', 'GIT_EXTERNAL_DIFF', 'GIT_CONFIG_COUNT', 'GIT_DIR', 'GIT_ASKPASS', 'GIT_PROXY_COMMAND'],
    ...[
      'NPM_CONFIG_REGISTRY',
      'npm_config_script_shell',
      'PIP_INDEX_URL',
      'CARGO_BUILD_RUSTC',
      'GOFLAGS',
      'MAKEFLAGS',
      'CC',
    ],
    ...[
      'EDITOR',
      'VISUAL',
      'PAGER',
      'MANPAGER',
      'BROWSER',
      'SSH_ASKPASS',
      'RSYNC_RSH',
      'LESSOPEN',
      'FZF_DEFAULT_COMMAND',
    ],
    ...['HOME', 'USERPROFILE', 'XDG_CONFIG_HOME', 'TMPDIR', 'CURL_HOME', 'RIPGREP_CONFIG_PATH', 'AWS_CONFIG_FILE'],
    ...[
      'HTTPS_PROXY',
      'all_proxy',
      'SSL_CERT_FILE',
      'OPENSSL_CONF',
      'LISTEN_FDS',
      'LONGCALL_ASK_URL',
      'PYTEST_ADDOPTS',
    ],
  ])('%s', (name) => {
    expect(keptFromInput(name)).toMatch(/^(it|its|a|an|git|programs) /);
  });

  it.each([
    ...[
      'LABEL',
      'TARGET',
      'BRANCH',
      'NODE_ENV',
      'CI',
      'TZ',
      'LANG',
      'GIT_AUTHOR_NAME',
      'GIT_COMMITTER_DATE',
      'AWS_REGION',
    ],
    ...[
      'TF_VAR_region',
      'FEATURE_FLAGS',
      'ARGS',
      'GOAL',
      'PATHS',
      'HOMEPAGE',
      'ENVIRONMENT',
      'DOCKER_TAG',
      'FILE_PATH',
    ],
  ])('but %s', (name) => {
    expect(keptFromInput(name)).toBeUndefined();
  });
});
