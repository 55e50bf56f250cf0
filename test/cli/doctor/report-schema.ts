// What `longcall doctor --json` prints, as programs may rely on it: nothing more and nothing else.

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const ms = { type: 'number', minimum: 0 };

/** An object of these members, those with `?` optional, and no others. */
function object(members: Record<string, object>): object {
  const entries = Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema] as const);
  const required = Object.keys(members).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties: Object.fromEntries(entries), required, additionalProperties: false };
}

function list(items: object): object {
  return { type: 'array', items };
}

function oneOf(...values: string[]): object {
  return { enum: values };
}

const served = object({ task: count, direct: count, auto: count, hidden: count });

const reached = object({
  protocol: text,
  server: object({ name: text, version: text }),
  generation: oneOf('2026-07-28', '2025-11-25', 'SEP-1686', 'companions', 'misdeclared', 'none'),
  tools: count,
  served,
  firstDraft: { type: 'boolean' },
  failWhenLost: count,
  connectMs: ms,
  'requestMs?': ms,
  silentOnProbe: { type: 'boolean' },
  endsOnProbe: { type: 'boolean' },
  noise: count,
  escaped: count,
});

const upstream = object({
  name: text,
  from: text,
  target: text,
  named: oneOf('gateway', 'host'),
  'longcall?': text,
  'reached?': reached,
  'trouble?': text,
  stderr: list(text),
});

const command = object({ name: text, from: text, program: text, 'found?': text, 'missingFolder?': text });
const api = object({ name: text, from: text, origin: text, 'trouble?': text });

const client = object({
  name: text,
  'version?': text,
  protocol: text,
  tasks: oneOf('extension', 'session', 'none'),
  asks: list(text),
  lastSeenAt: count,
  mode: oneOf('native 2026-07-28', 'native 2025-11-25', 'detach'),
  why: text,
  'set?': text,
  limits: list(text),
});

const finding = object({
  level: oneOf('ok', 'warn', 'fail'),
  about: oneOf('upstream', 'command', 'api', 'client', 'daemon', 'state', 'machine'),
  'name?': text,
  'at?': count,
  code: { type: 'string', pattern: '^[a-z-]+$' },
  message: { type: 'string', minLength: 1 },
  'advice?': { type: 'string', minLength: 1 },
});

const failed = object({ failed: text });

export const reportSchema = object({
  counts: object({ ok: count, warn: count, fail: count }),
  findings: list(finding),
  upstreams: list(upstream),
  commands: list(command),
  apis: list(api),
  clients: list(client),
  daemon: {
    anyOf: [
      object({ running: { const: false }, 'trouble?': text }),
      object({
        running: { const: true },
        pid: count,
        version: text,
        startedAt: count,
        hosts: count,
        openTasks: count,
        upstreams: list(text),
      }),
    ],
  },
  state: object({
    folder: text,
    exists: { type: 'boolean' },
    of: oneOf('daemon', 'gateway'),
    'refused?': text,
    writable: { type: 'boolean' },
    freeBytes: count,
    'fileSystem?': object({ name: text, kind: oneOf('network', 'memory', 'container') }),
    'locks?': { anyOf: [oneOf('kept', 'ignored'), failed] },
    'fsync?': { anyOf: [object({ ms }), failed] },
    sizes: object({ tasks: count, calls: count, log: count }),
    'store?': object({
      schema: count,
      ownSchema: count,
      open: list(object({ tool: text, count })),
      'newestAt?': count,
    }),
    'unreadable?': text,
  }),
  machine: object({
    node: text,
    wantedNode: text,
    longcall: text,
    sqlite: text,
    platform: text,
    now: count,
    clockJumpMs: { type: 'integer' },
  }),
});
