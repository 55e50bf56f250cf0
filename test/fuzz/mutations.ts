import type { Chance } from '../sim/chance.ts';
import { containersOf, type Node } from './tree.ts';
import { oddNames, oddValue } from './values.ts';

type Container = Exclude<Node, { kind: 'raw' }>;

/** The message with one thing wrong somewhere in it. Changes the tree in place, and returns its root. */
export function mutated(root: Node, chance: Chance): Node {
  if (chance.odds(0.02)) return chance.odds(0.5) ? { kind: 'array', items: [root, root] } : oddValue(chance);
  const containers = containersOf(root);
  if (containers.length === 0) return oddValue(chance);
  const at = chance.pick(containers) as Container;
  if (at.kind === 'array') mutateArray(at.items, chance);
  else mutateObject(at.members, containers, chance);
  return root;
}

function mutateArray(items: Node[], chance: Chance): void {
  const index = chance.int(0, Math.max(0, items.length - 1));
  switch (chance.int(0, 3)) {
    case 0:
      items.splice(index, 1);
      return;
    case 1:
      items.splice(index, 0, oddValue(chance));
      return;
    case 2:
      items.push(...items.slice(index));
      return;
    default:
      items[index] = oddValue(chance);
  }
}

function mutateObject(members: [string, Node][], containers: readonly Container[], chance: Chance): void {
  const member = members.length === 0 ? undefined : chance.pick(members);
  const index = member === undefined ? 0 : members.indexOf(member);
  const kind = chance.weighted([
    ['replace', 10],
    ['remove', 5],
    ['add', 4],
    ['twice', 2],
    ['rename', 2],
    ['graft', 2],
  ] as const);
  if (member === undefined || kind === 'add') {
    members.push([chance.pick(oddNames), oddValue(chance)]);
    return;
  }
  switch (kind) {
    case 'remove':
      members.splice(index, 1);
      return;
    case 'twice':
      members.splice(chance.int(0, members.length), 0, [member[0], oddValue(chance)]);
      return;
    case 'rename':
      member[0] = chance.odds(0.5) ? chance.pick(oddNames) : member[0].toUpperCase();
      return;
    case 'graft':
      // A part of the message where another one belongs; copied, or it would contain itself.
      member[1] = structuredClone(chance.pick(containers));
      return;
    default:
      member[1] = oddValue(chance);
  }
}

/** The text with something wrong in its bytes; as one character a byte. */
export function mangled(text: string, chance: Chance): string {
  let bytes = Buffer.from(text, 'utf8').toString('latin1');
  for (let left = chance.int(1, 4); left > 0; left -= 1) bytes = mangledOnce(bytes, chance);
  return bytes;
}

const odd = [
  '\u0000',
  '\xff',
  '\xc0\xaf',
  '\xed\xa0\x80',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ',',
  ':',
  '\n',
  '\r\n',
  '\ufeff',
  '\u001f',
];

function mangledOnce(bytes: string, chance: Chance): string {
  const at = chance.int(0, Math.max(0, bytes.length - 1));
  const end = Math.min(bytes.length, at + chance.int(1, 40));
  switch (chance.int(0, 5)) {
    case 0: // A bit is flipped.
      return (
        bytes.slice(0, at) +
        String.fromCharCode((bytes.charCodeAt(at) || 0) ^ (1 << chance.int(0, 7))) +
        bytes.slice(at + 1)
      );
    case 1:
      return bytes.slice(0, at);
    case 2:
      return bytes.slice(0, at) + bytes.slice(end);
    case 3:
      return bytes.slice(0, end) + bytes.slice(at);
    case 4: // A piece moves elsewhere.
      return bytes.slice(0, at) + bytes.slice(end) + bytes.slice(at, end);
    default:
      return bytes.slice(0, at) + Buffer.from(chance.pick(odd), 'latin1').toString('latin1') + bytes.slice(at);
  }
}
