import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type OwnTasksOptions, ownTasks } from '../../../src/server/sdk-v1/index.ts';

/** What a token verifier would hand over for a token of `subject`. */
export function authOf(subject: string): AuthInfo {
  return { token: subject, clientId: 'shared', scopes: [], extra: { iss: 'https://id.example', sub: subject } };
}

/** The principal's subject for {@link authOf}. */
export function subjectOf(subject: string): string {
  return `https://id.example|${subject}`;
}

export interface RequestOptions extends OwnTasksOptions {
  auth?: AuthInfo;
  method?: string;
  http?: boolean;
  sessionId?: string;
}

/** Runs `work` as the handler of a request, the way a server of the SDK would; answers once `work` is done. */
export function inRequest<Value>(work: () => Promise<Value>, options: RequestOptions = {}): Promise<Value> {
  const { auth, method = 'tools/call', http = false, sessionId, ...own } = options;
  const transport: Transport = {
    start: async () => {},
    send: async () => {},
    close: async () => {},
    ...(sessionId !== undefined && { sessionId }),
  };
  return new Promise((resolve, reject) => {
    const server = ownTasks(
      {
        async connect(connected: Transport) {
          connected.onmessage = (message: JSONRPCMessage) => {
            const { id } = message as { id: number };
            work()
              .finally(() => connected.send({ jsonrpc: '2.0', id, result: {} }))
              .then(resolve, reject);
          };
          await connected.start();
        },
      },
      own,
    );
    void server.connect(transport).then(() => {
      transport.onmessage?.({ jsonrpc: '2.0', id: 1, method } as JSONRPCMessage, {
        ...(auth !== undefined && { authInfo: auth }),
        ...(http && { requestInfo: { headers: {} } }),
      });
    });
  });
}
