/** What does the work of a gateway's own tools. Their tasks are called by it: `shell:NAME`. */
const KINDS = ['shell', 'http'] as const;
export type OwnKindName = (typeof KINDS)[number];

/** A name among the tasks. Of an upstream's tools it has a slash, of these a colon: neither is ever the other. */
export function ownTaskName(kind: OwnKindName, name: string): string {
  return `${kind}:${name}`;
}

/** What a name among the tasks says, where it is one of these; whether such a tool is configured or not. */
export function readOwnTask(task: string): { kind: OwnKindName; name: string } | undefined {
  const kind = KINDS.find((one) => task.startsWith(`${one}:`));
  return kind === undefined ? undefined : { kind, name: task.slice(kind.length + 1) };
}
