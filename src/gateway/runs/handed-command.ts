import { isJsonObject } from '../../core/index.ts';

/** A command that this user wants run, as the front of `longcall run` hands it over: it stays in memory. */
export interface HandedCommand {
  /** By which the call of the tool names it. */
  id: string;
  /** The program, and what it is given. */
  file: string;
  args: readonly string[];
  /** Absolute. */
  cwd: string;
  /** All it gets. */
  env: Readonly<Record<string, string>>;
  /** What it reads. @default nothing */
  stdin?: string;
  /** Values that must not be kept. */
  secrets: readonly string[];
}

/** What is wrong with it; nothing where it is right. */
export function handedProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'must be an object';
  for (const name of ['id', 'file', 'cwd']) if (typeof value[name] !== 'string') return `${name} must be a text`;
  if (!isJsonObject(value['env'])) return 'env must be an object';
  for (const name of ['args', 'secrets']) if (!Array.isArray(value[name])) return `${name} must be a list`;
  const { stdin } = value;
  return stdin === undefined || typeof stdin === 'string' ? undefined : 'stdin must be a text';
}
