import type { Answer, Principal, TaskRecord } from '../../src/core/index.ts';
import type { TaskStore } from '../../src/store/index.ts';
import type { Program } from './programs.ts';

/** What a client asked a process to do, and what came back. */
export interface Call {
  id: number;
  op: 'create' | 'create and leave' | 'get' | 'wait' | 'answer' | 'cancel';
  process: string;
  principal: Principal;
  /** Unknown for a create until it returns. */
  taskId?: string;
  program?: Program;
  /** The idempotency key it came with. */
  key?: string;
  answers?: ReadonlyMap<string, Answer>;
  /** Questions the client had seen open. */
  seenOpen?: readonly string[];
  reason?: string;
  /** The number of the last fact before it went out. */
  invokedAt: number;
  /** Whether the store was made unusable at some moment in between. */
  troubled: boolean;
  outcome?:
    | { ok: true; value: TaskRecord | 'cancelled' | 'already_terminal' | undefined }
    | { ok: false; error: Error };
}

/** One run of a handler. */
export interface HandlerRun {
  id: number;
  process: string;
  taskId: string;
  fence: number;
  attempt: number;
}

type StoreMethod = Exclude<keyof TaskStore, 'close' | typeof Symbol.asyncDispose>;

/** What the store answered a process, whether or not the process lived to hear it. */
type StoreFact = {
  [Method in StoreMethod]: {
    kind: 'store';
    process: string;
    method: Method;
    args: Parameters<TaskStore[Method]>;
    result: Awaited<ReturnType<TaskStore[Method]>>;
  };
}[StoreMethod];

/** Something that happened, as anybody outside the code under test could have written it down. */
export type Fact =
  | { kind: 'called'; call: Call }
  | { kind: 'returned'; call: Call }
  | StoreFact
  | { kind: 'store_failed'; process: string; method: StoreMethod; args: unknown[]; error: Error }
  /** `working`: a step's own code begins. `worked`: it is through. `has`: the handler was given the step's value. */
  | { kind: 'handler'; run: HandlerRun; what: 'started' | 'ended' }
  | { kind: 'handler'; run: HandlerRun; what: 'working' | 'worked' | 'has' | 'answered'; key: string; value?: string }
  | { kind: 'died'; process: string }
  /** It shut down in order, and dies next. */
  | { kind: 'exited'; process: string }
  | { kind: 'time' }
  | { kind: 'power_cut' }
  /** All faults are over and everything had time to run; only people's answers may be missing. */
  | { kind: 'settled' }
  /** Every question was answered, and everything had time to run again. */
  | { kind: 'answered_all' }
  /** Long past every task's time. */
  | { kind: 'outlived' };

export type { StoreMethod };
