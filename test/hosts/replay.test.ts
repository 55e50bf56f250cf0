import { describe, expect, it } from 'vitest';
import type { Json } from '../support/messages.ts';
import { type OpenPeer, overHttp, overStdio } from './peer.ts';
import type { Line, MessageLine, Segment } from './recording.ts';
import { replay } from './replay.ts';

type Extra = Partial<Pick<MessageLine, 'channel' | 'http'>>;
const from =
  (who: 'host' | 'server') =>
  (message: Json | undefined, extra: Extra = {}): Line => ({
    kind: 'message',
    t: 0,
    channel: 1,
    from: who,
    ...(message && { message }),
    ...extra,
  });
const host = from('host');
const recorded = from('server');
const segment = (...lines: Line[]): Segment => ({ title: 'by hand', lines });
const call = (id: number, name = 't'): Json => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
const get = (id: number, taskId = '<task-1>'): Json => ({
  jsonrpc: '2.0',
  id,
  method: 'tasks/get',
  params: { taskId },
});
const handle = (id: number, taskId = '<task-1>'): Json => ({ jsonrpc: '2.0', id, result: { task: { taskId } } });
const done = (id: unknown): Json => ({ jsonrpc: '2.0', id, result: { content: [] } });

/** A server in this process: what it answers to each line, `say` to be called now or later. */
function server(answer: (message: Json, say: (message: Json) => void) => void): { open: OpenPeer; heard: Json[] } {
  const heard: Json[] = [];
  const open = overStdio((onLine) => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const write = (line: string): void => {
      const message = JSON.parse(line) as Json;
      heard.push(message);
      answer(message, (said) => setImmediate(() => onLine(JSON.stringify(said))));
    };
    return { write, closeInput: end, ended };
  });
  return { open, heard };
}

describe('a replay', () => {
  it('sends what the host sent, with the task ids of the server under test', async () => {
    const { open, heard } = server(({ id, method }, say) => {
      say(method === 'tools/call' ? handle(id as number, 'tsk_real') : done(id));
    });
    const lines = [host(call(1)), recorded(handle(1)), host(get(2)), recorded(done(2)), host(get(3))];
    const transcript = await replay(segment(...lines), open);
    expect(heard).toEqual([call(1), get(2, 'tsk_real'), get(3, 'tsk_real')]);
    expect(transcript.answers('tasks/get')).toEqual([done(2), undefined]); // Nobody waited for the last one.
    expect(transcript.answers('tools/call', 't')).toEqual([handle(1, 'tsk_real')]);
    expect(transcript.answers('tools/call', 'other')).toEqual([]);
  });

  it('leaves out what is about a task that was never handed out', async () => {
    const { open, heard } = server(({ id }, say) => say(done(id)));
    const lines = [host(call(1)), recorded(handle(1)), host(get(2)), recorded(done(2)), host(call(3))];
    const { skipped } = await replay(segment(...lines), open);
    expect(heard).toEqual([call(1), call(3)]);
    expect(skipped).toEqual([{ line: host(get(2)), why: '<task-1> was never handed out' }]);
  });

  it('answers the requests of the server under their ids here, and none that it does not make', async () => {
    const asks = (id: unknown): Json => ({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} });
    const answer = (id: unknown, action: string): Json => ({ jsonrpc: '2.0', id, result: { action } });
    const { open, heard } = server((message, say) => {
      if (message['method'] === 'tools/call') say(message['id'] === 1 ? asks('lc-1') : done(message['id']));
      else say(done(1));
    });
    const { skipped } = await replay(
      segment(
        host(call(1)),
        recorded(asks(0)),
        host(answer(0, 'accept')),
        recorded(done(1)),
        host(call(2)),
        recorded(asks(1)),
        host(answer(1, 'decline')),
        recorded(done(2)),
      ),
      open,
    );
    expect(heard).toEqual([call(1), answer('lc-1', 'accept'), call(2)]);
    expect(skipped.map(({ why }) => why)).toEqual(['the server never asked']);
  });

  it('waits for what the host had seen, and not for what came later', async () => {
    const order: unknown[] = [];
    const { open } = server(({ id }, say) => {
      order.push(id);
      setTimeout(() => {
        order.push(`answer ${id}`);
        say(done(id));
      }, 5);
    });
    const together = [
      host(call(1)),
      host(call(2)),
      recorded(done(2)),
      recorded(done(1)),
      host(call(3)),
      recorded(done(3)),
    ];
    await replay(segment(...together), open);
    expect(order).toEqual([1, 2, 'answer 1', 'answer 2', 3, 'answer 3']);
  });

  it('says which request was not answered', async () => {
    const { open } = server(() => {});
    const waiting = replay(segment(host(call(1)), recorded(done(1))), open, { patienceMs: 5 });
    await expect(waiting).rejects.toThrow(`no answer to ${JSON.stringify(call(1))}`);
    let passed = 0;
    const elapse = async (ms: number): Promise<void> => {
      passed += ms;
    };
    const onClock = replay(segment(host(call(1)), recorded(done(1))), server(() => {}).open, {
      elapse,
      patienceMs: 5_000,
    });
    await expect(onClock).rejects.toThrow('no answer to');
    expect(passed).toBe(5_000);
  });

  it('lets time pass as it did, less what it took to wait here', async () => {
    const late: Json[] = [];
    let passed = 0;
    let say: (message: Json) => void = () => {};
    const { open } = server((_, sayHere) => {
      say = sayHere;
    });
    const elapse = async (ms: number): Promise<void> => {
      passed += ms;
      if (passed >= 1_200 && late.length === 0) {
        late.push(done(1));
        say(done(1));
      }
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    };
    const lines = [
      host(call(1)),
      { ...recorded(done(1)), t: 1_000 },
      { ...host(call(2)), t: 1_100 },
      { ...host(call(3)), t: 2_000 },
    ];
    await replay(segment(...lines), open, { elapse });
    expect(passed).toBe(2_000);
  });

  it('goes on under the session the server gave, or without one', async () => {
    const headers = { 'mcp-session-id': '<session-1>', 'mcp-name': '<task-1>' };
    const opening = host({ ...call(1), method: 'initialize' }, { channel: 1, http: { method: 'POST', headers: {} } });
    const answered = recorded(
      { ...done(1), result: { taskId: '<task-1>' } },
      { channel: 1, http: { status: 200, headers } },
    );
    const later = host(get(2), { channel: 2, http: { method: 'POST', headers } });
    for (const session of ['real', undefined]) {
      const requests: Request[] = [];
      const open = overHttp(async (request) => {
        requests.push(request);
        const { id } = (await request.json()) as Json;
        const given: Record<string, string> = session === undefined ? {} : { 'mcp-session-id': session };
        return Response.json({ jsonrpc: '2.0', id, result: { taskId: 'tsk_real' } }, { headers: given });
      });
      const { sent } = await replay(segment(opening, answered, later, recorded(done(2), { channel: 2 })), open);
      expect(requests.map(({ headers }) => headers.get('mcp-session-id'))).toEqual([null, session ?? null]);
      expect(requests[1]?.headers.get('mcp-name')).toBe('tsk_real');
      expect(sent.map(({ head }) => head?.status)).toEqual([200, 200]);
    }
  });

  it('closes a stream when the host did, and tells what broke', async () => {
    const aborted: unknown[] = [];
    const listening = overHttp((request) => {
      request.signal.addEventListener('abort', () => aborted.push('abort'));
      return new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)));
    });
    const cut: Line = { kind: 'event', t: 0, channel: 1, event: 'stream-aborted', by: 'host' };
    await replay(segment(host(call(1)), cut), listening);
    expect(aborted).toEqual(['abort']);
    const broken = overHttp(() => Promise.reject(new Error('connection refused')));
    await expect(replay(segment(host(call(1)), recorded(done(1))), broken)).rejects.toThrow('connection refused');
  });
});
