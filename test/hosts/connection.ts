import { InMemoryTransport, type JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Tasks } from '../../src/engine/index.ts';
import { answeringTransport } from '../../src/server/answering-transport.ts';
import { withTasks } from '../../src/server/handler.ts';
import { leave } from '../../src/server/leaving.ts';
import { listenTransport } from '../../src/server/listen-transport.ts';
import { defaultPrincipal } from '../../src/server/principal.ts';
import { type ServingOptions, servingOf } from '../../src/server/serving.ts';
import { validated } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';
import { type OpenPeer, overStdio } from './peer.ts';

/** A server over stdio, as it is put together for a process of its own, in this one. */
export function overConnection(tasks: Tasks, options: ServingOptions = {}): OpenPeer {
  const wire = validated().connection();
  return overStdio((onLine) => {
    const serving = servingOf(tasks, options, defaultPrincipal('local'));
    const [near, far] = InMemoryTransport.createLinkedPair();
    const factory = (): McpServer =>
      new McpServer({ name: 'test-server', version: '1.2.3' }, { capabilities: { tools: {} } });
    const connected = serveStdio(withTasks(tasks, factory, serving), {
      transport: listenTransport(answeringTransport(far, tasks, serving), tasks, serving),
    });
    near.onmessage = (message) => {
      wire.checkOutgoing(message);
      onLine(JSON.stringify(message));
    };
    void near.start();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    return {
      write: (line) => {
        const message = JSON.parse(line) as Json;
        wire.observeRequest(message);
        void near.send(message as unknown as JSONRPCMessage);
      },
      closeInput: () => {
        leave(tasks); // As a process does whose host has gone.
        void connected.close().then(end);
      },
      ended,
    };
  });
}
