// JSON that may be written in ways no serialiser would: members twice, numbers out of range, anything at all in place of a
// value. Messages are mutated as trees and printed as text.

export type Node =
  | { kind: 'object'; members: [name: string, value: Node][] }
  | { kind: 'array'; items: Node[] }
  /** A scalar as it is to be written, or what is no JSON. */
  | { kind: 'raw'; text: string };

export function treeOf(value: unknown): Node {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) };
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return { kind: 'object', members: members.map(([name, member]) => [name, treeOf(member)]) };
  }
  return { kind: 'raw', text: JSON.stringify(value) ?? 'null' };
}

export function print(node: Node): string {
  switch (node.kind) {
    case 'raw':
      return node.text;
    case 'array':
      return `[${node.items.map(print).join(',')}]`;
    case 'object':
      return `{${node.members.map(([name, value]) => `${JSON.stringify(name)}:${print(value)}`).join(',')}}`;
  }
}

/** Every node with something in it, the root first. */
export function containersOf(root: Node): Exclude<Node, { kind: 'raw' }>[] {
  if (root.kind === 'raw') return [];
  const inside = root.kind === 'array' ? root.items : root.members.map(([, value]) => value);
  return [root, ...inside.flatMap(containersOf)];
}
