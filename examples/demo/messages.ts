// What the conductor and the client process tell each other, over the channel Node gives to a child.

/** How the client reaches the server. Over stdio the server is the client's own child, as MCP has it. */
export type ServerAddress =
  | { transport: 'http'; url: string }
  | { transport: 'stdio'; args: string[]; env: Record<string, string> };

export type ToClient =
  | { type: 'connect'; server: ServerAddress }
  | { type: 'fingerprint'; folder: string; atLeastMs: number }
  | { type: 'publish'; fingerprint: string }
  | { type: 'killed' }
  | { type: 'bye' };

export interface Fingerprint {
  fingerprint: string;
  files: number;
  bytes: number;
}

export type FromClient =
  | { type: 'ready' }
  /** Over stdio: the client has started one. */
  | { type: 'server' }
  | { type: 'connected' }
  | { type: 'handle'; status: string; ms: number }
  | { type: 'progress'; done: number; total: number }
  /** The first answer after the server could not be reached. */
  | { type: 'back'; status: string; downMs: number }
  | { type: 'asked'; key: string; message: string }
  | { type: 'result'; first: string; second: string }
  | { type: 'failed'; message: string };
