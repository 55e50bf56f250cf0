// A server on standard streams that knows no tasks: `plain-server.mjs LEDGER`. It writes down what it does the moment it
// does it, so that what became of a call can be told from outside, whoever was killed meanwhile.
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [ledger] = process.argv.slice(2);
const note = (what, more = {}) => {
  const line = { what, at: Number(process.hrtime.bigint()) / 1e6, server: 'plain', pid: process.pid, ...more };
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
};
const write = (message) => writeSync(1, `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const params = { type: 'object', properties: { token: { type: 'string' }, ms: { type: 'number' } } };
const tools = [
  { name: 'write', inputSchema: params },
  { name: 'read', inputSchema: params, annotations: { readOnlyHint: true, idempotentHint: true } },
  { name: 'confirm', inputSchema: params },
];
const open = new Map();
const asked = new Map();
let questions = 0;

function run(id, { name, arguments: { token, ms = 0 } = {} }) {
  note('began', { token, tool: name });
  const end = () => {
    open.delete(id);
    const value = randomBytes(6).toString('hex');
    note('done', { token, tool: name, value });
    write({ id, result: { content: [{ type: 'text', text: value }] } });
  };
  if (name !== 'confirm') {
    open.set(id, later(ms, token, end));
    return;
  }
  questions += 1;
  const question = `q${questions}`;
  asked.set(question, ({ content }) => {
    note('heard', { token, tool: name, value: content?.word });
    end();
  });
  const requestedSchema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] };
  write({ id: question, method: 'elicitation/create', params: { message: 'The word?', requestedSchema } });
}

/** Below 0: until there is a file beside the ledger that says so. */
function later(ms, token, end) {
  if (ms >= 0) return setTimeout(end, ms);
  const timer = setInterval(() => {
    if (!existsSync(`${ledger}.${token}.go`)) return;
    clearInterval(timer);
    end();
  }, 10);
  return timer;
}

function answer({ id, method, params: given, result }) {
  if (method === undefined) {
    asked.get(id)?.(result ?? {});
    asked.delete(id);
    return;
  }
  if (method === 'notifications/cancelled') {
    clearTimeout(open.get(given.requestId));
    open.delete(given.requestId);
  }
  if (id === undefined) return;
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'plain', version: '1' };
      write({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } });
      return;
    }
    case 'ping':
      write({ id, result: {} });
      return;
    case 'tools/list':
      write({ id, result: { tools } });
      return;
    case 'tools/call':
      run(id, given);
      return;
    default:
      write({ id, error: { code: -32601, message: 'Method not found' } });
  }
}

note('up');
createInterface({ input: process.stdin })
  .on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0));
