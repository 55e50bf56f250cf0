// A server on stdin and stdout, for fuzzing: `stdio-process.ts SEED...`. Who started it asks, over its channel, what stands
// for the names in a message, lets time pass, and at the end hears what operators were told.
import { createTaskServer } from '../../src/server/index.ts';
import { Chance } from '../sim/chance.ts';
import { hearAccidents } from './accidents.ts';
import { Census } from './census.ts';
import { logProblems } from './log.ts';
import type { StdioAnswer, StdioQuestion } from './stdio-channel.ts';
import type { Target } from './targets.ts';
import { passing, turns } from './turns.ts';
import { Uuids } from './uuids.ts';
import { World } from './world.ts';

const target: Target = {
  name: 'a server on stdio',
  weight: 0,
  speakers: ['local'],
  open: false,
  serve(tasks) {
    const server = createTaskServer(tasks, { name: 'fuzzed', version: '1.2.3' }, { signals: false });
    server.stdio();
    return { fetch: async () => new Response(null, { status: 404 }), close: () => server.close() };
  },
};

const problems: string[] = [];
hearAccidents((sentence) => problems.push(sentence), ['log', 'info', 'warn', 'error']);

const chance = new Chance(...process.argv.slice(2).map(Number));
const world = await World.open({ target, chance, census: new Census(), uuids: new Uuids(chance.fork()) });
// Who started it moves the clock. Once that has gone, time passes by itself, or draining would take for ever.
process.on('disconnect', () => setInterval(() => world.clock.advance(20), 20).unref());

const answer = async (question: StdioQuestion): Promise<string | string[]> => {
  switch (question.ask) {
    case 'fill':
      return world.fill(question.template, question.extra);
    case 'unknown':
      return world.unknownLike(await world.fill(question.template));
    case 'pass':
      await passing(world.clock, question.ms);
      return '';
    case 'quiet':
      await turns(40);
      return '';
    case 'report':
      return [...problems, ...world.log.lines.flatMap(logProblems)];
  }
};

process.on('message', (question: StdioQuestion) => {
  answer(question)
    .then((said) => process.send?.({ number: question.number, said } satisfies StdioAnswer))
    .catch((error) => problems.push(`a question failed: ${(error as Error).stack}`));
});
process.send?.({ number: 0, said: 'ready' } satisfies StdioAnswer);
