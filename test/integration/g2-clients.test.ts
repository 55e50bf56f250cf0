import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { overStdio, validated } from './host.ts';
import { aPlace, listening } from './processes.ts';

// The official tasks client on connections of 2025-11-25: it polls, and fetches the result at the end.

const content = (text: string) => ({ content: [{ type: 'text', text }] });

async function overHttp(): Promise<Client> {
  const place = aPlace();
  place.go();
  const { url } = await listening(place);
  const client = new Client({ name: 'a host', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { colour: 'red' } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: validated().wrapFetch(fetch) }));
  onTestFinished(() => client.close());
  return client;
}

async function overPipes(): Promise<Client> {
  const place = aPlace();
  place.go();
  const { client } = await overStdio(place, validated(), { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { colour: 'red' } }));
  return client;
}

describe.each([
  ['HTTP', overHttp],
  ['stdio', overPipes],
])('over %s, the session of ext-tasks on 2025-11-25', (_, connect) => {
  it('calls, follows and cancels', async () => {
    const client = await connect();
    expect(client.getProtocolEra()).toBe('legacy');
    await using session = createTaskSessionFromClient(client, { endpointId: 'fixture' });
    const outcome = async (name: string, args = {}) => (await session.callTool(name, args)).result();
    expect(await outcome('greet', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      result: content('hello Ada'),
    });
    expect(await outcome('must')).toMatchObject({ status: 'completed', result: content('done as a task') });
    expect(await outcome('count', { to: 3 })).toMatchObject({ status: 'completed', result: content('sum 6') });
    const execution = await session.callTool('mustWait');
    await execution.cancel();
    expect(await execution.result()).toMatchObject({ status: 'cancelled' });
  });

  it('is asked though it never fetches a question: on the channel it has [C-070]', async () => {
    const client = await connect();
    await using session = createTaskSessionFromClient(client, { endpointId: 'fixture' });
    const outcome = await (await session.callTool('mustAsk')).result();
    expect(outcome).toMatchObject({ status: 'completed', result: content('painted red') });
  });
});
