import type { CastName, Owner } from './cast.ts';
import { Exchange } from './exchange.ts';
import type { Twin } from './steps.ts';
import { passing, turns } from './turns.ts';
import type { World } from './world.ts';

/** All that somebody could see, or measure, of one request. */
interface Sight {
  status: number | undefined;
  headers: Record<string, string>;
  body: string;
  finished: boolean;
}

interface Seen {
  /** At once, and after the foreign task has changed. */
  sights: Sight[][];
  calls: string[];
  statements: string[];
  log: string[];
}

/** What is counted for each caller, whatever it asked for, and told now and then. */
const COUNTED = /a caller asks for many tasks that are not there|"kind":"UnidentifiedCallerError"/;

/**
 * Sends the same request about what is somebody else's and about what never was, and tells what is different.
 * @returns undefined when nothing is; the exchanges, so that they are judged like all others
 */
export async function compareTwins(
  twin: Twin,
  world: World,
): Promise<{ different: string | undefined; exchanges: Exchange[] }> {
  const foreign = await world.fill(twin.foreign);
  const unknown = world.unknownLike(foreign);
  const ids = [foreign, unknown];
  const exchanges: Exchange[] = [];
  const look = async (id: string): Promise<Seen> => {
    await world.quiet();
    const begun = {
      calls: world.calls.length,
      statements: world.census.statements.length,
      log: world.log.lines.length,
    };
    const own: Exchange[] = [];
    for (let left = twin.times ?? 1; left > 0; left -= 1) {
      const exchange = await Exchange.begin(twin.send, world, { foreign: id });
      if (exchange !== undefined) own.push(exchange);
    }
    exchanges.push(...own);
    await turns(5 * own.length);
    await world.wait(() => own.every(({ finished }) => finished));
    // Of many at once, it is chance which come first.
    const sightsNow = (): Sight[] => own.map((exchange) => sightOf(exchange, ids)).sort(byText);
    const sights = [sightsNow()];
    const seen = {
      calls: world.calls.slice(begun.calls).sort(), // Which of several comes first, is no news.
      statements: world.census.statements.slice(begun.statements).sort(),
      log: world.log.lines
        .slice(begun.log)
        .map((line) => masked(JSON.stringify(line, detailed), ids))
        .sort(),
    };
    if (twin.meanwhile === 'cancel') {
      await touch(twin.foreign, world);
      await world.quiet();
      sights.push(sightsNow());
    }
    for (const exchange of own) if (!exchange.finished) exchange.leave();
    await world.quiet();
    return { ...seen, log: seen.log.filter((line) => !COUNTED.test(line)), sights };
  };
  // What was asked before must make no difference: polls are admitted by how many there were of late. Between the two no
  // time passes, or the sender's own tasks would be older.
  await passing(world.clock, 20_000);
  await world.tasks.engine.sweep(); // Whoever meets an expired task first has to do that.
  const [first, second] = twin.unknownFirst ? [unknown, foreign] : [foreign, unknown];
  // Numbers of their own, or two twins would begin sessions of one id.
  const number = world.calls.length;
  const one = await world.withUuids(number, () => look(first));
  const other = await world.withUuids(number, () => look(second));
  // What a mutation has made of it may speak of neither.
  const speaks = JSON.stringify(twin.send).includes('{{foreign}}');
  return { different: speaks ? difference(one, other) : undefined, exchanges };
}

/** Its owner cancels it; whoever has asked for it must notice nothing. */
async function touch(template: string, world: World): Promise<void> {
  const [, owner, name] = /^\{\{task (\w+) ([^}]+)\}\}$/.exec(template) ?? [];
  if (owner === undefined || name === undefined) return;
  const taskId = world.taskOf(owner as Owner, name as CastName);
  await world.tasks.engine.cancel(taskId, world.principal(owner as Owner), 'meanwhile').catch(() => {});
}

function sightOf({ status, answered, text, finished }: Exchange, ids: readonly string[]): Sight {
  return { status, headers: answered, body: masked(text, ids), finished };
}

/** Wherever one of the ids stands, in whatever spelling, and also if only its beginning does. */
export function masked(text: string, ids: readonly string[]): string {
  return ids.reduce(
    (left, id) =>
      left
        .replaceAll(id, '<id>')
        .replaceAll(encodeURIComponent(id), '<id>')
        .replaceAll(Buffer.from(id).toString('base64'), '<id in Base64>')
        .replaceAll(id.slice(0, 64), '<id, begun>')
        .replaceAll(id.slice(0, 10), '<id, short>'),
    text,
  );
}

function byText(one: Sight, other: Sight): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

function detailed(name: string, value: unknown): unknown {
  if (name === 'stack') return undefined; // Where it was noticed is for its reader; when, is no matter.
  return value instanceof Error ? { name: value.name, message: value.message } : value;
}

function difference(one: Seen, other: Seen): string | undefined {
  for (const what of ['sights', 'calls', 'statements', 'log'] as const) {
    const [a, b] = [JSON.stringify(one[what]), JSON.stringify(other[what])];
    if (a !== b) return `${what} differ\n  ${around(a, b)}\n  ${around(b, a)}`;
  }
  return undefined;
}

/** The place where `text` leaves `other`. */
function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at += 1;
  return `${at > 150 ? '…' : ''}${text.slice(Math.max(0, at - 150), at + 350)}`;
}
