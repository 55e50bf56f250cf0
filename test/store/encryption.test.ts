import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  IdempotencyConflictError,
  LOCAL_PRINCIPAL,
  StoreFailedError,
  StoreRefusedError,
  StoreSealedError,
  systemRandom,
} from '../../src/core/index.ts';
import { sqliteStore, type TaskStore } from '../../src/store/index.ts';
import { aTask, ManualClock } from '../../src/testing/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { everythingOf, KINDS, kindsFoundIn, openStore, plantNeedles } from '../support/needles.ts';
import { scratchFolder, someKeys } from '../support/stores.ts';

let folder: ReturnType<typeof scratchFolder>;
let data: string;
let file: string;
const opened: TaskStore[] = [];
beforeEach(() => {
  folder = scratchFolder();
  data = join(folder.path, 'data');
  mkdirSync(data);
  file = join(data, 'tasks.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  folder.remove();
});

async function open(...keys: string[]): Promise<TaskStore> {
  const store = await openStore(file, keys.length === 0 ? {} : { encryption: someKeys(...keys) });
  opened.push(store);
  return store;
}

const raw = <Row>(sql: string): Row[] => {
  const db = new Database(file);
  try {
    return db.prepare(sql).all() as Row[];
  } finally {
    db.close();
  }
};
const change = (sql: string): void => {
  const db = new Database(file);
  db.exec(sql);
  db.close();
};

describe('the bytes on disk', () => {
  const backUp = async () => {
    const db = new Database(file);
    await db.backup(join(data, 'backup.db'));
    db.exec(`vacuum into '${join(data, 'vacuumed.db')}'`);
    db.close();
  };

  it('hold every kind of payload as it is where nothing is encrypted', async () => {
    const store = await open();
    await plantNeedles(store);
    expect(kindsFoundIn(data)).toEqual(KINDS);
  });

  it('hold none where the store has keys: not the file, not its log, not a backup', async () => {
    const store = await open('one');
    const tasks = await plantNeedles(store);
    expect(kindsFoundIn(data)).toEqual([]);
    await backUp();
    expect(kindsFoundIn(data)).toEqual([]);
    expect(readFileSync(`${file}-wal`).length).toBeGreaterThan(10_000); // There was something to find.
    await store.close();
    expect(kindsFoundIn(data)).toEqual([]);
    const again = await open('one');
    expect(JSON.stringify(await everythingOf(again, Object.values(tasks)))).toContain('needle-answer');
  });

  it('hold none any more once a store that was not encrypted is rekeyed', async () => {
    const store = await open();
    const tasks = await plantNeedles(store);
    for (let n = 0; n < 300; n += 1) await store.create(aTask({ input: 'filling '.repeat(200) }));
    const before = await everythingOf(store, Object.values(tasks));
    await store.close();
    const sealing = await open('one');
    expect(await everythingOf(sealing, Object.values(tasks))).toEqual(before);
    const { key, rows, plain, left } = await sealing.rekey({ vacuum: true });
    expect({ key, left }).toEqual({ key: 'one', left: {} });
    expect(rows).toBeGreaterThan(300);
    expect(plain).toBe(rows);
    expect(await everythingOf(sealing, Object.values(tasks))).toEqual(before);
    expect(kindsFoundIn(data)).toEqual([]);
    expect(await sealing.rekey()).toEqual({ key: 'one', rows: 0, plain: 0, left: {} });
  });

  it('hold the secret of the store sealed as well', async () => {
    const secret = Buffer.from(await (await open()).secret()).toString('base64url');
    await opened.pop()?.close();
    expect(readFileSync(file).includes(secret)).toBe(true);
    expect(Buffer.from(await (await open('one')).secret()).toString('base64url')).toBe(secret);
    expect(raw<{ kind: string }>("select typeof(value) as kind from meta where key = 'secret'")).toEqual([
      { kind: 'blob' },
    ]);
  });
});

describe('keys', () => {
  it('rotate without losing what an older one sealed; after a rekey the older one may go', async () => {
    const first = await open('one');
    const tasks = await plantNeedles(first);
    const before = await everythingOf(first, Object.values(tasks));
    await first.close();
    const second = await open('one', 'two');
    const { task } = await second.create(aTask());
    expect(await everythingOf(second, Object.values(tasks))).toEqual(before);
    expect(raw('select key_id, count(*) as n from task_payloads group by key_id order by key_id')).toMatchObject([
      { key_id: 'one' },
      { key_id: 'two', n: 1 },
    ]);
    expect(await second.rekey()).toMatchObject({ key: 'two', plain: 0, left: {} });
    await second.close();
    const third = await open('two');
    expect(await everythingOf(third, Object.values(tasks))).toEqual(before);
    expect((await third.get(task.taskId, LOCAL_PRINCIPAL))?.taskId).toBe(task.taskId);
  });

  it('that are missing are named, and everything else goes on: other tasks, claims, sweeps, lists, counts', async () => {
    const clock = new ManualClock();
    const { logger, lines } = recordingLogger();
    const openWith = async (...keys: string[]) => {
      const { store } = await sqliteStore(file, { encryption: someKeys(...keys) }).open({
        clock,
        random: systemRandom,
        logger,
      });
      opened.push(store);
      return store;
    };
    const first = await openWith('one');
    const shut = [await first.create(aTask()), await first.create(aTask())].map(({ task }) => task.taskId);
    const ended = (await first.create(aTask(), { claim: { workerId: 'w', leaseMs: 1_000 } })).claimed?.lease;
    await first.finish(ended as never, { status: 'failed', error: { code: 1, message: 'hush' } });
    await first.close();
    await (await openWith('one', 'two')).close(); // The store's own secrets are sealed with the new key from here on.
    const second = await openWith('two');
    const { task } = await second.create(aTask());
    const lost = await second.get(ended?.taskId as string, LOCAL_PRINCIPAL).catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(StoreSealedError);
    expect(lost).toMatchObject({
      code: 'STORE_SEALED',
      keyId: 'one',
      message: expect.stringMatching(/key "one".*encryption/),
    });
    const claimed = await second.claim([...shut, task.taskId], { workerId: 'w', leaseMs: 1_000 });
    expect(claimed.map(({ lease }) => lease.taskId)).toEqual([task.taskId]);
    const told = lines.filter(({ level }) => level === 'error');
    expect(told).toMatchObject([
      { message: expect.stringMatching(/cannot be decrypted here/), fields: { error: { keyId: 'one' } } },
    ]);
    expect(await second.inspect(ended?.taskId as string)).toMatchObject({ status: 'failed', sealed: ['one'] });
    expect((await second.list({ limit: 10 })).tasks).toHaveLength(4);
    expect(await second.counts()).toMatchObject({ total: 4 });
    expect(await second.rekey()).toMatchObject({ key: 'two', left: { one: expect.any(Number) } });
    // Left to others: nothing of the claim shows, and who has the key takes them.
    expect(await second.attempts(shut[0] as string)).toEqual([]);
    await second.close();
    const both = await openWith('one', 'two');
    clock.advance(10_000);
    expect(await both.claim(shut, { workerId: 'w', leaseMs: 1_000 })).toMatchObject([
      { lease: { fence: 1, attempt: 1 } },
      { lease: { fence: 1, attempt: 1 } },
    ]);
  });

  it('that are wrong are refused when the store is opened', async () => {
    await open('one');
    const wrong = { use: 'one', keys: { one: Buffer.alloc(32, 7) } };
    await expect(openStore(file, { encryption: wrong })).rejects.toThrow(/knows another key by the id "one"/);
    await expect(openStore(file, { encryption: wrong })).rejects.toThrow(StoreRefusedError);
    await expect(openStore(file, { encryption: someKeys('two') })).rejects.toThrow(/encrypted with key "one".*\(two\)/);
  });

  it('come from a file that only its owner may read', async () => {
    const path = join(folder.path, 'keys.json');
    const key = Buffer.alloc(32, 9).toString('base64');
    writeFileSync(path, JSON.stringify({ use: 'k', keys: { k: key } }), { mode: 0o644 });
    const encryption = { file: path };
    await expect(openStore(file, { encryption })).rejects.toThrow(
      /key file .* is open to others \(mode 644\): chmod 600/,
    );
    chmodSync(path, 0o600);
    const store = await openStore(file, { encryption });
    opened.push(store);
    await store.create(aTask());
    writeFileSync(path, `{ "use": "k", "keys": { "k": "${key}`);
    await expect(openStore(file, { encryption })).rejects.toThrow(/is not JSON$/);
    await expect(openStore(file, { encryption: { file: join(folder.path, 'none') } })).rejects.toThrow(
      StoreRefusedError,
    );
  });

  it.each([
    [{ use: 'a', keys: { b: Buffer.alloc(32) } }, /use names key "a"/],
    [{ use: 'a', keys: { a: Buffer.alloc(16) } }, /key "a" must be 32 random bytes/],
    [{ use: 'a', keys: { a: 'c2hvcnQ=' } }, /key "a" must be 32 random bytes/],
    [{ use: 'a', keys: { a: `${'A'.repeat(20)}*${'A'.repeat(22)}=` } }, /key "a" must be 32 random bytes/],
    [{ use: 'a b', keys: { 'a b': Buffer.alloc(32) } }, /id of a key must be/],
    [{}, /expected \{ use/],
  ])('%# that are none are refused at once, without their bytes', (encryption, message) => {
    expect(() => sqliteStore(file, { encryption: encryption as never })).toThrow(message);
  });
});

describe('without keys', () => {
  it('an encrypted store shows what is no payload, refuses the rest, and writes nothing in plain', async () => {
    const first = await open('one');
    const tasks = await plantNeedles(first);
    const ready = (await first.create(aTask({ ttlMs: 1 }))).task.taskId;
    await first.close();
    const store = await open();
    const list = await store.list({ limit: 10 });
    expect(list.tasks.map(({ status }) => status).sort()).toEqual(['cancelled', 'completed', 'failed', 'working']);
    expect(await store.inspect(tasks.failed)).toMatchObject({ name: 'transcode', attempt: 2, sealed: ['one'] });
    expect((await store.timeline(tasks.completed, 0, 10))[1]).toMatchObject({ type: 'claimed', body: { attempt: 1 } });
    expect((await store.timeline(tasks.completed, 0, 10))[2]).toMatchObject({ type: 'step_recorded', sealed: ['one'] });
    for (const refused of [
      store.payloads(tasks.completed),
      store.get(tasks.completed, { subject: 'owner' }),
      store.readLog(tasks.completed, 0, 100),
      store.history(tasks.completed),
      store.secret(),
      store.create(aTask()),
      store.cancelAll([ready], 'why', 'operator'),
      store.requeue(tasks.completed, 'tsk_again'),
    ]) {
      await expect(refused).rejects.toThrow(StoreSealedError);
    }
    expect(await store.claim([ready], { workerId: 'w', leaseMs: 1_000 })).toEqual([]);
    const expired = { status: 'failed', error: { code: 1, message: 'over' } } as const;
    expect(await store.sweep(10, expired, 0)).toEqual({ expired: [], deleted: 0 });
    expect(await store.remove(tasks.completed)).toBe(true);
    await expect(store.rekey()).rejects.toThrow(/without keys/);
    expect(kindsFoundIn(data)).toEqual([]);
  });

  it('releases that know no sealed payloads refuse an encrypted file, and no other', async () => {
    const schema = () =>
      Object.fromEntries(
        raw<{ key: string; value: string }>(
          "select key, value from meta where key in ('schema', 'min_reader', 'min_writer')",
        ).map(({ key, value }) => [key, value]),
      );
    await (await open()).close();
    expect(schema()).toEqual({ schema: '2', min_reader: '1', min_writer: '1' });
    await (await open('one')).close();
    expect(schema()).toEqual({ schema: '2', min_reader: '2', min_writer: '2' });
  });
});

describe('sealed payloads', () => {
  const input = (task: string) => `(select row_id from tasks where id = '${task}') and kind = 'input'`;
  const bodyOf = (task: string) => `(select body from task_payloads where task_row = ${input(task)})`;

  it('do not open once a bit is turned', async () => {
    const store = await open('one');
    const { task } = await store.create(aTask());
    const [found] = raw<{ body: Buffer }>(`select body from task_payloads where task_row = ${input(task.taskId)}`);
    const { body } = found as { body: Buffer };
    for (let at = 0; at < body.length; at += 1) {
      const turned = Buffer.from(body);
      turned[at] = (turned[at] as number) ^ 1;
      change(`update task_payloads set body = x'${turned.toString('hex')}' where task_row = ${input(task.taskId)}`);
      await expect(store.payloads(task.taskId), `byte ${at}`).rejects.toThrow(/damaged|encrypted with key/);
    }
    for (const length of [0, 1, 2, 5, 20, body.length - 1]) {
      const cut = body.subarray(0, length).toString('hex');
      change(`update task_payloads set body = x'${cut}' where task_row = ${input(task.taskId)}`);
      await expect(store.payloads(task.taskId), `${length} bytes`).rejects.toThrow(/damaged|encrypted with key/);
    }
    change(`update task_payloads set body = x'${body.toString('hex')}' where task_row = ${input(task.taskId)}`);
    expect((await store.payloads(task.taskId))?.input).toEqual(task.state && { file: 'a.mp4' });
  });

  it('that were changed fail their task, and keep nobody from the others', async () => {
    const store = await open('one');
    const damaged = (await store.create(aTask())).task.taskId;
    const whole = (await store.create(aTask())).task.taskId;
    change(`update task_payloads set body = ${bodyOf(whole)} where task_row = ${input(damaged)}`);
    const claimed = await store.claim([damaged, whole], { workerId: 'w', leaseMs: 1_000 });
    expect(claimed.map(({ lease }) => lease.taskId)).toEqual([whole]);
    expect((await store.get(damaged, LOCAL_PRINCIPAL))?.state).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/the task store is damaged/) },
    });
  });

  it('do not open in the place of another task, another kind, or another row', async () => {
    const store = await open('one');
    const mine = (await store.create(aTask({ input: 'mine', prepared: 'ready' }))).task.taskId;
    const other = (await store.create(aTask({ input: 'other' }))).task.taskId;
    change(`update task_payloads set body = ${bodyOf(other)} where task_row = ${input(mine)}`);
    await expect(store.payloads(mine)).rejects.toThrow(StoreFailedError);
    const swapped = (await store.create(aTask({ input: 'a', prepared: 'b' }))).task.taskId;
    change(
      `update task_payloads set body = ${bodyOf(swapped)} where task_row = (select row_id from tasks where id = '${swapped}')`,
    );
    await expect(store.payloads(swapped)).rejects.toThrow(/prepared of task/);
    const [claimed] = await store.claim([other], { workerId: 'w', leaseMs: 60_000 });
    const { lease } = claimed as NonNullable<typeof claimed>;
    for (const [n, body] of ['"x"', '"y"'].entries()) {
      await store.recordStep(lease, { key: `s#${n}`, name: 's', ordinal: n, seq: n, body });
    }
    change(`update steps set body = (select body from steps where seq = 0) where seq = 1`);
    await expect(store.history(other)).rejects.toThrow(/step value of task/);
  });

  it('of equal content look different each time, and so do digests of equal keys of different principals', async () => {
    const store = await open('one');
    const idempotency = { key: 'k', requestHash: 'h' };
    for (const subject of ['a', 'b']) await store.create(aTask({ principal: { subject } }), { idempotency });
    const distinct = (sql: string) => (raw<{ n: number }>(sql)[0] as { n: number }).n;
    expect(distinct('select count(distinct body) as n from task_payloads')).toBe(2);
    expect(distinct('select count(distinct key) as n from idempotency_keys')).toBe(2);
    expect(distinct('select count(distinct request_hash) as n from idempotency_keys')).toBe(2);
  });
});

describe('a store that gets keys while it has tasks', () => {
  it('finds what was looked up by its own text before: idempotency keys, questions, steps', async () => {
    const idempotency = { key: 'k', requestHash: 'h' };
    const before = await open();
    const { task } = await before.create(aTask(), { idempotency });
    const [claimed] = await before.claim([task.taskId], { workerId: 'w', leaseMs: 60_000 });
    const { lease } = claimed as NonNullable<typeof claimed>;
    const question = { kind: 'form', message: 'sure?', schema: { type: 'object', properties: {} } } as const;
    await before.ask(lease, 'q', question);
    await before.ask(lease, 'r', question);
    const step = { key: 's#1', name: 's', ordinal: 1, seq: 0, body: '1' };
    await before.recordStep(lease, step);
    await before.close();
    for (const rekeyed of [false, true]) {
      const store = await open('one');
      if (rekeyed) expect(await store.rekey()).toMatchObject({ left: {} });
      expect(await store.create(aTask(), { idempotency })).toMatchObject({
        outcome: 'existing',
        task: { taskId: task.taskId },
      });
      const other = { key: 'k', requestHash: 'other' };
      await expect(store.create(aTask(), { idempotency: other })).rejects.toThrow(IdempotencyConflictError);
      expect(await store.recordStep(lease, { ...step, seq: 9 })).toBe('refused');
      expect(await store.ask(lease, 'q', { ...question, message: 'again?' })).toBe('applied');
      const key = rekeyed ? 'r' : 'q';
      expect(await store.answer(task.taskId, LOCAL_PRINCIPAL, new Map([[key, { action: 'decline' }]]))).toEqual([key]);
      expect(await store.answer(task.taskId, LOCAL_PRINCIPAL, new Map([[key, { action: 'cancel' }]]))).toEqual([]);
      const { steps, questions } = await store.history(task.taskId);
      expect(steps).toEqual([{ key: 's#1', name: 's', body: '1' }]);
      expect(questions.map(({ key: asked }) => asked)).toEqual(['q', 'r']);
      expect(questions.find(({ key: asked }) => asked === key)).toMatchObject({
        question,
        answer: { action: 'decline' },
      });
      await store.close();
    }
  });

  it('can be rekeyed where what was said is empty', async () => {
    const before = await open();
    const { task } = await before.create(aTask());
    const [claimed] = await before.claim([task.taskId], { workerId: 'w', leaseMs: 60_000 });
    const { lease } = claimed as NonNullable<typeof claimed>;
    await before.report(lease, { statusMessage: '' });
    await before.release(lease, { to: 'retry', availableAt: 0, error: '' }, 0);
    await before.close();
    const store = await open('one');
    expect(await store.rekey()).toMatchObject({ rows: 3, plain: 3, left: {} }); // Task, arguments, attempt.
    expect(await store.rekey()).toMatchObject({ rows: 0 });
    expect((await store.get(task.taskId, LOCAL_PRINCIPAL))?.statusMessage).toBe('');
    expect(await store.pastAttempts(task.taskId)).toMatchObject([{ error: '' }]);
  });

  it('can be rekeyed while others write and read', async () => {
    const old = await open('one');
    for (let n = 0; n < 400; n += 1) await old.create(aTask());
    const store = await open('one', 'two');
    let going = true;
    const made: string[] = [];
    const busy = (async () => {
      while (going) {
        const { task } = await old.create(aTask());
        made.push(task.taskId);
        const [claimed] = await old.claim([task.taskId], { workerId: 'w', leaseMs: 60_000 });
        await old.finish((claimed as NonNullable<typeof claimed>).lease, { status: 'completed', result: {} });
      }
    })();
    const other = openStore(file, { encryption: someKeys('two', 'one') });
    opened.push(await other);
    const rekeying = store.rekey();
    while (made.length < 30) await new Promise((resolve) => setImmediate(resolve));
    going = false;
    await busy;
    expect(await rekeying).toMatchObject({ key: 'two', left: {} });
    await store.rekey();
    expect(raw('select distinct key_id from task_payloads')).toEqual([{ key_id: 'two' }]);
    // A process that was started before knows the old key only: what the new one sealed is shut for it, by name.
    await expect(old.get(made[0] as string, LOCAL_PRINCIPAL)).rejects.toThrow(/key "two"/);
    for (const taskId of made) expect((await store.get(taskId, LOCAL_PRINCIPAL))?.state.status).toBe('completed');
  });
});
