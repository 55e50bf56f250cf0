/** Marks a branch the type checker has proven empty; a new union member makes the call fail to compile. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
