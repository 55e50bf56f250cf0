import { type Implementation, Server } from '@modelcontextprotocol/server';
import type { Front } from './front.ts';

const told = { listChanged: true };

/** A server whose tools, prompts and resources are those of others. What is asked of it is decided when it is asked. */
export class FrontServer {
  readonly server: Server;
  readonly front: Front;

  constructor(info: Implementation, front: Front) {
    this.front = front;
    // What listeners may be told of; what is told of it to whom is decided when it is asked for.
    const capabilities = { tools: told, prompts: told, resources: { ...told, subscribe: true } };
    this.server = new Server(info, { capabilities });
  }
}
