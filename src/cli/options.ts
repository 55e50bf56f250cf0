import type { TaskStatus } from '../core/index.ts';
import type { TaskFilter } from '../store/index.ts';

/** Options that every command has. */
export interface CommonOptions {
  db: string;
  /** A file with the keys of an encrypted store. */
  keyFile?: string;
  json?: boolean;
}

export interface FilterOptions {
  status?: TaskStatus[];
  tool?: string;
  since?: number;
}

export function filterOf({ status, tool, since }: FilterOptions): TaskFilter {
  return {
    ...(status !== undefined && { status }),
    ...(tool !== undefined && { name: tool }),
    ...(since !== undefined && { since }),
  };
}
