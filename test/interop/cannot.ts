import type { ScenarioName } from '../../scripts/interop/scenarios.ts';
import type { TransportName } from '../../scripts/interop/site.ts';

export interface Inability {
  /** What is wrong, or missing, with whom. */
  reason: string;
  /**
   * It is tried all the same, to see whether it still has to be left out: for as many milliseconds, where it hangs. Without
   * it there is nothing to try.
   */
  triedForMs?: number;
  /** @default every transport */
  over?: TransportName;
}

type Inabilities = Partial<Record<ScenarioName, Inability>>;

const checksErrors: Inability = {
  reason: 'holds even what reports a failure against the schema of results, and loses the report',
  triedForMs: 20_000,
};

const noCommand = (what: string): Inability => ({ reason: `the command line has nothing to ${what}` });

const inspectorCannot: Inabilities = {
  progress: noCommand('show how far a task is'),
  question: { reason: 'declares no elicitation: the task fails instead of asking', triedForMs: 20_000 },
  'odd-error': checksErrors,
  unknown: noCommand('find a task again'),
  cancel: noCommand('cancel a task'),
  'result-twice': noCommand('find a task again'),
  list: noCommand('list tasks'),
  restart: noCommand('find a task again'),
};

const noList: Inability = { reason: '2026-07-28 has no tasks/list' };
const sendsNoName: Inability = {
  reason: 'its requests about tasks lack the Mcp-Name header, which servers have to demand',
  over: 'http',
};

/** What peers cannot do, by their names in `npm run interop`. None of it can be helped by a server. */
export const cannot: Readonly<Record<string, Inabilities>> = {
  'sdk v2 2.4.0 2026-07-28, declaring tasks': {
    task: { reason: 'refuses to receive a task: UNSUPPORTED_RESULT_TYPE', triedForMs: 20_000 },
  },
  'ext-tasks 0.2.2 2026-07-28': {
    list: noList,
  },
  'ext-tasks 0.2.2 2025-11-25': {
    'protocol-error': { reason: 'keeps of a failed task only its message: the code is lost', triedForMs: 10_000 },
  },
  'inspector 2.12.0 2026-07-28': {
    ...inspectorCannot,
    'protocol-error': { reason: 'prints the message of an error, not its code', triedForMs: 20_000 },
  },
  'inspector 2.12.0 2025-11-25': {
    ...inspectorCannot,
    'protocol-error': { reason: 'prints the message of an error, not its code', triedForMs: 20_000 },
  },
  '@langchain/mcp-adapters 1.1.4': { 'odd-error': checksErrors },
  'gemini-cli 0.61.0': { 'odd-error': checksErrors },
  'fastmcp 4.1.4 2026-07-28': {
    task: { ...sendsNoName, triedForMs: 20_000 },
    progress: sendsNoName,
    question: sendsNoName,
    'tool-error': sendsNoName,
    'odd-error': sendsNoName,
    'protocol-error': sendsNoName,
    unknown: sendsNoName,
    cancel: sendsNoName,
    'result-twice': sendsNoName,
    list: noList,
    restart: sendsNoName,
  },
  'fastmcp 4.1.4 2026-07-28, sending Mcp-Name': { list: noList },
  'rmcp 3.11.0 2026-07-28': { list: noList },
};
