import { isJsonObject } from '../core/index.ts';
import { taskSupportOf } from '../wire/rev2025-11-25/client.ts';
import type { TaskSupport } from '../wire/rev2025-11-25/index.ts';
import type { Connection } from './connection.ts';
import { toolPages } from './tool-list.ts';

/** Which of a server's tools may run as tasks, by its own list, which is read when it is needed and again when it changes. */
export class ToolSupport {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  #tools: Promise<ReadonlyMap<string, TaskSupport>> | undefined;

  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
    connection.listen(({ method }) => {
      if (method === 'notifications/tools/list_changed') this.forget();
      return false; // The client may want to know too.
    });
  }

  /** `undefined`: there is no such tool. */
  async of(name: string): Promise<TaskSupport | undefined> {
    const listing = this.#tools ?? this.#list();
    this.#tools = listing;
    try {
      return (await listing).get(name);
    } catch (error) {
      if (this.#tools === listing) this.forget();
      throw error;
    }
  }

  /** The names of all tools. */
  async names(): Promise<ReadonlySet<string>> {
    await this.of('');
    return new Set((await this.#tools)?.keys());
  }

  /** What was read may be old. */
  forget(): void {
    this.#tools = undefined;
  }

  async #list(): Promise<ReadonlyMap<string, TaskSupport>> {
    const found = new Map<string, TaskSupport>();
    const timeoutMs = this.#timeoutMs;
    for await (const tool of toolPages((params) => this.#connection.request('tools/list', params, { timeoutMs }))) {
      if (isJsonObject(tool) && typeof tool.name === 'string') found.set(tool.name, taskSupportOf(tool));
    }
    return found;
  }
}
