import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, isJsonObject, type JsonObject, type Question, type TaskId } from '../../core/index.ts';
import { machine, type ProcessIdentity } from '../processes/process-table.ts';
import type { ProgressSeen } from './progress/progress-reader.ts';

/** Of a process that cannot be told apart from others, only its number. */
export type KnownProcess = ProcessIdentity | { pid: number };

/** Why a command was stopped, where it did not end by itself. */
export type StopCause = 'cancel' | 'timeout' | 'output' | 'stopped';

/** Why a command could not be started. */
export interface StartTrouble {
  code: string;
  message: string;
}

export interface StreamCount {
  bytes: number;
  lines: number;
}

/** How a job ended. */
export interface JobExit {
  code: number | null;
  signal: string | null;
  /** Nothing was started. */
  trouble?: StartTrouble;
  cause?: StopCause;
  startedAt: number;
  endedAt: number;
  stdout: StreamCount;
  stderr: StreamCount;
  /** How many of its processes had to be killed, since they did not end in time. */
  killed: number;
  /** Processes of its making that left its family, and were left to themselves. */
  escaped: readonly number[];
  /** Processes that could not be ended. */
  left: readonly number[];
  seen?: ProgressSeen;
}

/** How a job stands that is not over. */
export interface JobStanding {
  seen?: ProgressSeen;
  /** What has no answer yet. */
  questions: Readonly<Record<string, Question>>;
}

export interface RunnerRecord {
  runner: KnownProcess;
  /** Whose job it runs. */
  taskId: TaskId;
  /** What its number means anything in. */
  boot: string;
  namespace: string;
  startedAt: number;
}

/** How often a runner shows that it lives, to those who cannot see its process. */
export const BEAT_MS = 5_000;
const MISSED_BEATS_MS = 6 * BEAT_MS;
/** More than an end takes. */
const ROOM_BYTES = 64 * 1024;

/**
 * The files by which a job's runner and whoever watches over it know of each other. Each is whole or not there. Neither needs the
 * other to live.
 */
export class JobFiles {
  readonly folder: string;

  constructor(jobs: string, key: string) {
    if (!/^[\w-]{1,64}$/.test(key)) throw new TypeError('the key of a job is letters, digits, - and _');
    this.folder = join(jobs, key);
  }

  make(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
  }

  get exists(): boolean {
    return statSync(this.folder, { throwIfNoEntry: false }) !== undefined;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Makes this process the job's runner, unless it has one already. Of two at once, one is. */
  claim(record: RunnerRecord): boolean {
    const draft = this.#draft('runner', record);
    try {
      linkSync(draft, this.path('runner.json'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  get runner(): RunnerRecord | undefined {
    return this.#read('runner.json') as RunnerRecord | undefined;
  }

  beat(): void {
    const now = new Date();
    utimesSync(this.path('runner.json'), now, now);
  }

  /** Keeps room on the disk, so that the end can be written to one that is full by then. */
  reserve(): void {
    writeFileSync(this.path('room'), Buffer.alloc(ROOM_BYTES), { mode: 0o600 });
  }

  useReserve(): void {
    rmSync(this.path('room'), { force: true });
  }

  /** Whether its runner has shown lately that it lives. By the clock of the disk, which both write. */
  get beats(): boolean {
    const stats = statSync(this.path('runner.json'), { throwIfNoEntry: false });
    return stats !== undefined && Date.now() - stats.mtimeMs < MISSED_BEATS_MS;
  }

  set command(command: KnownProcess) {
    this.#write('command.json', command);
  }

  get command(): KnownProcess | undefined {
    return this.#read('command.json') as KnownProcess | undefined;
  }

  set exit(exit: JobExit) {
    this.#write('exit.json', exit);
  }

  get exit(): JobExit | undefined {
    return this.#read('exit.json') as JobExit | undefined;
  }

  set standing(standing: JobStanding) {
    this.#write('state.json', standing);
  }

  get standing(): JobStanding {
    return (this.#read('state.json') as JobStanding | undefined) ?? { questions: {} };
  }

  /** Says that the job is to end. Also one that has no runner yet: it will never start. */
  cancel(): void {
    this.make();
    if (!this.isCancelled) this.#write('cancel', {});
  }

  get isCancelled(): boolean {
    return statSync(this.path('cancel'), { throwIfNoEntry: false }) !== undefined;
  }

  answer(question: string, answer: Answer): void {
    mkdirSync(this.path('answers'), { recursive: true, mode: 0o700 });
    this.#write(join('answers', `${fileName(question)}.json`), answer);
  }

  answerTo(question: string): Answer | undefined {
    return this.#read(join('answers', `${fileName(question)}.json`)) as Answer | undefined;
  }

  #write(name: string, value: object): void {
    renameSync(this.#draft(name, value), this.path(name));
  }

  #draft(name: string, value: object): string {
    const draft = this.path(`${name}.${randomBytes(6).toString('hex')}.new`);
    writeFileSync(draft, JSON.stringify(value), { mode: 0o600 });
    return draft;
  }

  /** @returns undefined when there is none */
  #read(name: string): JsonObject | undefined {
    let text: string;
    try {
      text = readFileSync(this.path(name), 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw error;
    }
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  }
}

/** Whether process numbers of a runner mean anything here. */
export function isOfThisMachine({ boot, namespace }: RunnerRecord): 'here' | 'other boot' | 'other namespace' {
  const here = machine();
  if (boot !== here.boot) return 'other boot';
  return namespace === here.namespace ? 'here' : 'other namespace';
}

function fileName(question: string): string {
  if (!/^[\w-]{1,64}$/.test(question)) throw new TypeError('the key of a question is letters, digits, - and _');
  return question;
}
