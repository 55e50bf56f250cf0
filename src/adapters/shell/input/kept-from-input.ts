/** Variables that the input of a call never fills in, and why. Names are told apart as Windows and npm do: not by their case. */
const GROUPS: readonly { why: string; names: RegExp }[] = [
  {
    // Which file a name of a program or library stands for, and what is loaded before a program's own first instruction.
    why: 'it decides which programs and libraries are loaded',
    names:
      /^(PATH|PATHEXT|LD_.*|DYLD_.*|_RLD.*|LDR_.*|LIBPATH|SHLIB_PATH|GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|MALLOC_.*|LOCPATH|NLSPATH|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|COMSPEC|SYSTEMROOT|SYSTEMDRIVE|WINDIR|PROGRAMFILES.*|PROGRAMDATA|COMMONPROGRAMFILES.*)$/,
  },
  {
    // A shell runs these files, or reads words by these rules, before and while it reads its script.
    why: 'a shell runs or reads things by it',
    names:
      /^(BASH.*|ENV|ZDOTDIR|FPATH|KSH_.*|FCEDIT|HISTFILE|SHELLOPTS|IFS|PS[0-4]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|POSIXLY_CORRECT|INPUTRC|PSMODULEPATH|(.*_)?SHELL)$/,
  },
  {
    // Each of these is a way to have an interpreter run other code than that of the program. NODE_ENV only names a configuration.
    why: 'an interpreter loads code by it',
    names:
      /^(NODE_(?!ENV$).*|BUN_.*|DENO_.*|ELECTRON_.*|TS_NODE_.*|TSX_.*|VITE_NODE_.*|PYTHON.*|PYTEST_.*|VIRTUAL_ENV|CONDA_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|LUA_.*|PHPRC|PHP_.*|R_(HOME|LIBS.*|PROFILE.*|ENVIRON.*)|JULIA_.*|ERL_.*|ELIXIR_.*|GUILE_.*|TCLLIBPATH|JAVA_.*|_JAVA_.*|JDK_.*|CLASSPATH|DOTNET_.*|CORECLR_.*|COR_.*|COMPLUS_.*|MONO_.*)$/,
  },
  {
    // Package managers and build tools run what their settings say: scripts, wrappers, registries of somebody else.
    why: 'a package manager or build tool takes its settings from it',
    names:
      /^(NPM_.*|YARN_.*|PNPM_.*|COREPACK_.*|PIP_.*|PIPX_.*|POETRY_.*|UV_.*|CARGO.*|RUST.*|GO(ROOT|PATH|BIN|ENV|EXE|PROXY|NOPROXY|PRIVATE|INSECURE|(NO)?SUMDB|NOSUMCHECK|TOOLCHAIN|TOOLDIR|TMPDIR|WORK|(MOD)?CACHE|CACHEPROG|DEBUG|VCS|AUTH)|CGO_.*|MAVEN_.*|M2_HOME|GRADLE_.*|SBT_.*|ANT_.*|CMAKE_.*|MAKE(FILES|LEVEL)?|PKG_CONFIG.*|CC|CXX|CPP|LD|AR|AS|NM|LEX|YACC|CONFIG_SHELL|CONFIG_SITE|ANSIBLE_.*|TF_(?!VAR_).*|HELM_.*|DOCKER_(HOST|CONFIG|CONTEXT|CERT_PATH|TLS.*)|COMPOSE_FILE|BUILDKIT_.*)$/,
  },
  {
    // A value would become options after all: of git, of make, of a compiler, of whatever splits it into words.
    why: 'its value is read as options',
    names:
      /^(.+_(OPTIONS|OPTS|OPT|ARGS|ADDOPTS)|(.*_)?(C|CPP|CXX|F|FC|OBJC|AS|AR|LD|M|MAKE|GNUMAKE|GO|RUST|RUSTDOC)FLAGS|LESS|MORE|GZIP|BZIP2?|ZIPOPT|UNZIP|XZ_DEFAULTS)$/,
  },
  {
    // Names of programs that others start: to edit, to show, to connect, to ask for a password.
    why: 'a program is started by it',
    names:
      /^(.*(EDITOR|PAGER|ASKPASS)|(.*_)?(VISUAL|BROWSER|RSH|SSH)|.+_(COMMAND|CMD|PROGRAM|WRAPPER|LAUNCHER|HOOK|PRELOAD|DEBUGGER)|LESS(OPEN|CLOSE)|RSYNC_.*|SSH_.*|SUDO_.*|SVN_.*|HG.*|CVS_.*|MANPATH|LYNX_.*|FZF_.*|TERMINFO.*|TERMCAP)$/,
  },
  {
    // Git alone has dozens that run programs or read settings. Who wrote a commit, and when, is data.
    why: 'git runs programs and reads settings by it',
    names: /^GIT_(?!(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$).*$/,
  },
  {
    // Where programs look for the settings that name all of the above, for keys, and for what they keep.
    why: 'programs look for their settings or keys by it',
    names:
      /^(HOME|HOMEDRIVE|HOMEPATH|USERPROFILE|APPDATA|LOCALAPPDATA|ALLUSERSPROFILE|XDG_.*|TMPDIR|TEMP|TMP|PWD|OLDPWD|USER|USERNAME|LOGNAME|GNUPGHOME|GPG_.*|NETRC|CURL_.*|WGETRC|.*_(CONFIG|CONFIG_FILE|CONFIG_PATH|CONFIG_DIR|HOME|RC)|KUBECONFIG|AWS_(?!(DEFAULT_)?REGION$).*|GOOGLE_APPLICATION_CREDENTIALS|CLOUDSDK_.*|KRB5.*|PGSERVICE.*|PGPASSFILE|PGSYSCONFDIR|MYSQL_.*)$/,
  },
  {
    // Whom programs talk to, and whom they believe.
    why: 'programs decide by it whom they talk to and trust',
    names:
      /^((.*_)?PROXY|OPENSSL_.*|SSL_.*|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|DBUS_.*|DISPLAY|XAUTHORITY|WAYLAND_DISPLAY|LISTEN_(FDS|PID|FDNAMES)|NOTIFY_SOCKET)$/,
  },
  {
    // What the runner and this package tell a command.
    why: 'it is of Longcall itself',
    names: /^LONGCALL_.*$/,
  },
];

/** Why the input of a call cannot be what a variable is set to, in words that follow its name; `undefined`: it can. */
export function keptFromInput(name: string): string | undefined {
  const upper = name.toUpperCase();
  return GROUPS.find(({ names }) => names.test(upper))?.why;
}
