// A job of the contract's cases: does what its orders say, one a line of a file, until one of them ends it.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

const { BOOK, LONGCALL_JOB, LONGCALL_ASK_URL, LONGCALL_ASK_TOKEN } = process.env;
const LOOK_MS = 15;

process.on('SIGTERM', () => {
  writeFileSync(`${BOOK}.stopped`, '');
  process.exit(143);
});
appendFileSync(`${BOOK}.started`, `${LONGCALL_JOB}\n`);

const orders = () => {
  try {
    const lines = readFileSync(`${BOOK}.orders`, 'utf8').split('\n');
    return lines.slice(0, -1).map((line) => JSON.parse(line)); // Behind the last line feed one may be half written.
  } catch {
    return [];
  }
};

async function ask(form) {
  const headers = { authorization: `Bearer ${LONGCALL_ASK_TOKEN}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ message: form.message, schema: form.schema });
  const response = await fetch(LONGCALL_ASK_URL, { method: 'POST', headers, body });
  appendFileSync(`${BOOK}.answers`, `${(await response.text()).trim()}\n`);
}

for (let at = 0; ; ) {
  const order = orders()[at];
  if (order === undefined) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    continue;
  }
  at += 1;
  if (order.do === 'log') for (const line of order.lines) console.log(line);
  if (order.do === 'ask') await ask(order.form);
  if (order.do === 'end') {
    console.log(order.text);
    process.exitCode = order.code;
    break;
  }
}
