/** A token that nobody guesses. */
export const TOKEN = '0123456789abcdef0123456789abcdef';

/** Everything there is, once. */
export const complete = `# yaml-language-server: $schema=../../../schema/longcall.schema.json
listen: 127.0.0.1:7717
state: /var/lib/longcall
auth: { tokens: [{ name: ci, token: "\${env:CI_TOKEN}" }] }
limits: { slots: 64, openTasksPerPrincipal: 1000, maxRequest: 4MiB, maxResult: 16MiB }
upstreams:
  github:
    command: npx
    args: ["-y", "some-server@1.2.3"]
    cwd: .
    env: { TOKEN: "\${env:GITHUB_TOKEN}", CERT: "\${file:./cert.pem}" }
    inheritEnv: [PATH, HOME]
    prefix: gh_
    allow: ["*"]
    deny: ["delete_*"]
    mode: auto
    slowAfter: 10s
    ttl: 7d
    keepResult: 24h
    timeout: 1h
    concurrency: 4
    onLost: fail
    attempts: 3
    requireTasks: false
    fallback: { mode: detach, detachAfter: 20s, maxBlock: 10m }
    idleAfter: 5m
    tools:
      run_tests: { mode: task, timeout: 2h, ttl: forever }
      "read_*": { mode: direct, requireTasks: true }
  docs:
    url: https://example.com/mcp
    headers: { Authorization: "Bearer \${file:cert.pem}" }
    forwardAuthorization: false
    firstDraft: true
firstDraft: true
shell:
  run_tests:
    title: Tests
    description: Run the test suite
    command:
      - npx
      - -y
      - vitest
      - run
      - { input: bail, flag: --bail }
      - { input: grep, option: --testNamePattern, join: "=", dash: true }
      - { input: files, dash: false }
    endOfOptions: true
    input:
      type: object
      properties: { bail: { type: boolean }, grep: { type: string }, files: { type: array, items: { type: string } } }
    stdin: { input: grep }
    cwd: .
    env: { CI: 1, TOKEN: "\${env:GITHUB_TOKEN}", CERT: "\${file:cert.pem}", LABEL: { input: grep } }
    inheritEnv: [PATH]
    timeout: 30m
    grace: 5s
    okCodes: [0, 1]
    output: json
    maxOutput: 1GiB
    keepOutput: { head: 1MiB, tail: 8MiB }
    progress: false
    annotations: { title: Tests, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    ttl: 7d
    keepResult: 24h
    concurrency: 2
    onLost: rerun
    attempts: 2
    requireTasks: false
    fallback: { mode: block }
  migrate:
    script: |
      echo "\${HOME}"
`;
