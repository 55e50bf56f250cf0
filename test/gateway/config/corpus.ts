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
publicUrl: https://tasks.example.com
http:
  deploy:
    title: Deploy
    description: Deploys a branch
    input: { type: object, properties: { repo: { type: string }, branch: { type: string } }, required: [repo] }
    preset: generic-202
    start:
      method: PUT
      url: https://api.example.com/repos/{repo}/deploys
      headers: { X-Branch: { input: branch }, X-Key: "\${env:GITHUB_TOKEN}" }
      query: { ref: { input: branch }, full: true }
      body: { key: { job: key }, callback: { job: webhook }, deep: [{ input: $.branch }, { literal: { input: x } }] }
      accepted: [202, 201]
      operation: false
    headers: { Authorization: "Bearer \${env:GITHUB_TOKEN}" }
    status:
      url: [{ header: Location }, { answer: $.links.status }, "/deploys/{answer.id}", { start: /status, methods: [PUT] }]
      appearsWithin: 0s
      state: [$.state, phase]
      states: { done: [ok], failed: [broken], cancelled: [stopped], lost: [purged] }
      done: $.over
      error: $.error
      cancelled: { at: $.error.code, is: [1, "ABORTED"] }
      progress: { at: $.files, total: $.of }
      message: $.doing
      result: [$.result, { url: { answer: $.href } }]
    cancel: { method: POST, url: { status: /cancel }, body: { reason: asked } }
    find:
      method: GET
      url: https://api.example.com/repos/{repo}/deploys?key={job.key}
      headers: { X-Page: 1 }
      query: { limit: 10 }
      items: $.items
      match: $.key
      how: equals
      appearsWithin: 2m
    idempotency: { header: Idempotency-Key, format: uuid, honoured: true }
    allowedOrigins: [https://files.example.com, { origin: "https://eu.example.com", credentials: true }]
    allowPrivate: false
    limits: { request: 30s, response: 4MiB, redirects: 5 }
    webhook:
      secret: "\${env:GITHUB_TOKEN}"
      header: X-Hub-Signature-256
      encoding: hex
      prefix: sha256=
      timestamp: { header: X-Sent-At, tolerance: 5m }
      signed: "{timestamp}.{body}"
      match: { answer: $.id, hook: $.deploy.id }
    timeout: 1h
    ttl: 7d
    concurrency: 2
`;
