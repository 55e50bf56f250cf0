import { type Implementation, Server } from '@modelcontextprotocol/server';
import type { Front } from './front.ts';

/** A server whose tools, prompts and resources are those of others. What is asked of it is decided when it is asked. */
export class FrontServer {
  readonly server: Server;
  readonly front: Front;

  constructor(info: Implementation, front: Front) {
    this.front = front;
    this.server = new Server(info, { capabilities: { tools: {}, resources: {} } });
  }
}
