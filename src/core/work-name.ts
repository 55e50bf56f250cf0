const TOOL_CALL = 'tools/call';

/** What workers are told apart by: a prompt may well have the name of a tool. */
export function workName(method: string, name: string): string {
  return method === TOOL_CALL ? name : `${method} ${name}`;
}

/** The name in a {@link workName}. */
export function nameOfWork(method: string, work: string): string {
  return method === TOOL_CALL ? work : work.slice(method.length + 1);
}
