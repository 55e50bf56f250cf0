// Clients in processes of their own, most of them in other languages. They are told what to do on stdin and tell on stdout what
// whoever uses them gets, one JSON text a line:
//
//   to it     {"id":1,"do":"call","tool":"greet","args":{}}    or start (tool, args), outcome (taskId), cancel (taskId), list
//             {"answer":1,"content":{"colour":"green"}}
//   from it   {"id":1,"value":...}, where 0 says that it is connected, or {"id":1,"broke":"why it gave up"}
//             {"progress":"1/3"}
//             {"question":1,"message":"Which colour?"}
//
// The value of call and outcome is an Outcome, that of start {"taskId":...}, that of list an array of {"taskId","status"}.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ended, track } from '../../support/children.ts';
import { type Followed, type Hooks, type Json, type Outcome, PATIENCE_MS, type Peer } from '../peer.ts';
import type { Site } from '../site.ts';
import { CallerWithoutTasks, progressIn } from './without-tasks.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface Said {
  id?: number;
  value?: unknown;
  broke?: string;
  progress?: string;
  question?: number;
  message?: string;
}

export interface ProgramOptions {
  /** Its command line; where the server is comes last, as JSON: `{ url }` or `{ command, args, cwd }`. */
  command: string;
  args: readonly string[];
  /** Beside PATH and HOME: it is to get nothing of ours, no keys and no proxy. */
  env?: Record<string, string>;
}

class Program {
  hooks: Hooks | undefined;
  readonly #child;
  readonly #waiting = new Map<number, Waiting>();
  #requests = 0;
  #errors = '';
  #gone = false;

  constructor({ command, args, env }: ProgramOptions, { transport, url, command: server, home }: Site) {
    const target = JSON.stringify(transport === 'http' ? { url } : server);
    this.#child = track(
      spawn(command, [...args, target], {
        env: { PATH: process.env.PATH, HOME: home, DO_NOT_TRACK: '1', ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    );
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
    this.#child.stdin.on('error', () => {}); // It ended: everybody who waits is told below.
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      if (line.startsWith('{')) this.#heard(JSON.parse(line) as Said); // Libraries may print what they like.
    });
    this.#child.once('close', () => this.#giveUp());
    this.#child.once('error', (error) => {
      this.#errors += error.message;
      this.#giveUp();
    });
  }

  /** Done when it is connected. */
  ready(): Promise<unknown> {
    return this.#answerTo(0);
  }

  ask(what: Json): Promise<unknown> {
    this.#requests += 1;
    const answer = this.#answerTo(this.#requests);
    this.#tell({ id: this.#requests, ...what });
    return answer;
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await ended(this.#child);
  }

  #heard({ id, value, broke, progress, question, message }: Said): void {
    if (progress !== undefined) this.hooks?.onProgress?.(progress);
    if (question !== undefined) {
      const content = this.hooks?.onQuestion?.(String(message));
      this.#tell({ answer: question, content: content ?? null });
    }
    if (id === undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (broke === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(broke));
  }

  #tell(message: Json): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #answerTo(id: number): Promise<unknown> {
    if (this.#gone) return Promise.reject(new Error(`it ended:\n${this.#errors}`));
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`it does not answer:\n${this.#errors}`));
      }, PATIENCE_MS).unref();
      this.#waiting.set(id, {
        resolve: (value) => {
          clearTimeout(late);
          resolve(value);
        },
        reject: (error) => {
          clearTimeout(late);
          reject(error);
        },
      });
    });
  }

  #giveUp(): void {
    this.#gone = true;
    for (const { reject } of this.#waiting.values()) reject(new Error(`it ended:\n${this.#errors}`));
    this.#waiting.clear();
  }
}

/** A client that follows tasks by itself. */
export class NativeProgram implements Peer {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  static async open(options: ProgramOptions, site: Site): Promise<NativeProgram> {
    return new NativeProgram(await opened(options, site));
  }

  async call(tool: string, args: Json): Promise<Outcome> {
    return (await this.#program.ask({ do: 'call', tool, args })) as Outcome;
  }

  async start(tool: string, args: Json, hooks: Hooks = {}): Promise<Followed> {
    this.#program.hooks = hooks;
    const { taskId } = (await this.#program.ask({ do: 'start', tool, args })) as { taskId: string };
    return {
      taskId,
      outcome: this.outcome(taskId),
      cancel: async () => void (await this.#program.ask({ do: 'cancel', taskId })),
    };
  }

  async outcome(taskId: string): Promise<Outcome> {
    return (await this.#program.ask({ do: 'outcome', taskId })) as Outcome;
  }

  async list(): Promise<{ taskId: string; status: string }[]> {
    return (await this.#program.ask({ do: 'list' })) as { taskId: string; status: string }[];
  }

  close(): Promise<void> {
    return this.#program.close();
  }
}

export interface PlainOptions extends ProgramOptions {
  /** It declares elicitation, so questions reach it as such. @default false */
  canBeAsked?: boolean;
  /** It asks for progress and tells of it; without it, the words of answers are all there is. @default false */
  hearsProgress?: boolean;
}

/** A client that calls tools and knows no tasks. */
export class PlainProgram extends CallerWithoutTasks {
  protected override readonly canBeAsked: boolean;
  readonly #hearsProgress: boolean;
  readonly #program: Program;

  private constructor(program: Program, { canBeAsked = false, hearsProgress = false }: PlainOptions) {
    super();
    this.#program = program;
    this.canBeAsked = canBeAsked;
    this.#hearsProgress = hearsProgress;
  }

  static async open(options: PlainOptions, site: Site): Promise<PlainProgram> {
    return new PlainProgram(await opened(options, site), options);
  }

  async call(tool: string, args: Json, hooks: Hooks = {}): Promise<Outcome> {
    this.#program.hooks = this.hooks;
    const outcome = (await this.#program.ask({ do: 'call', tool, args })) as Outcome;
    const progress = this.#hearsProgress ? undefined : progressIn(outcome);
    if (progress !== undefined) hooks.onProgress?.(progress);
    return outcome;
  }

  close(): Promise<void> {
    return this.#program.close();
  }
}

async function opened(options: ProgramOptions, site: Site): Promise<Program> {
  const program = new Program(options, site);
  try {
    await program.ready();
    return program;
  } catch (error) {
    await program.close();
    throw error;
  }
}
