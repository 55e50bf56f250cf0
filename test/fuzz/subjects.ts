import type { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import { cast, type Owner, owners, questions } from './cast.ts';

/** Chooses what a message speaks of. Everything it gives is a template. */
export class Subjects {
  readonly chance: Chance;
  readonly #task: (() => string) | undefined;

  /** @param task names the one task that all messages are to speak of. @default any of anybody's */
  constructor(chance: Chance, task?: () => string) {
    this.chance = chance;
    this.#task = task;
  }

  owner(): Owner {
    return this.chance.pick(owners);
  }

  task(): string {
    const { chance } = this;
    if (this.#task !== undefined) return this.#task();
    return (
      chance.weighted([
        [`{{task ${this.owner()} ${chance.pick(cast).name}}}`, 16],
        [`{{made ${chance.int(0, 4)}}}`, 5],
        [`{{unknown ${chance.int(0, 3)}}}`, 2],
        [
          chance.pick([
            '',
            ' ',
            'tsk_',
            'x',
            '__proto__',
            '{{repeat x 1024}}',
            '{{repeat x 1025}}',
            '{{repeat é 600}}',
          ]),
          1,
        ],
        [`${chance.pick([' ', '%74', '\u0000', '/'])}{{task ${this.owner()} done}}`, 0.5],
      ]) ?? ''
    );
  }

  uri(): string {
    const base = this.chance.pick([
      'longcall://tasks/',
      'longcall://tasks/',
      'LONGCALL://tasks/',
      'longcall://tasks//',
    ]);
    return `${base}${this.task()}${this.chance.pick(['', '', '/log', '/result', '/', '/log/', '?x=1', '#x', '/x'])}`;
  }

  /** Answers by key, fit for one question or another. */
  responses(): Json {
    const { chance } = this;
    const [, key] = chance.pick(questions);
    return { [key]: this.answer(), ...(chance.odds(0.2) && { other: this.answer() }) };
  }

  answer(): unknown {
    return this.chance.pick([
      { action: 'accept', content: { colour: 'green' } },
      { action: 'accept', content: { colour: 'green', size: -0, really: true } },
      { action: 'accept', content: { colour: 5 } },
      { action: 'accept' },
      { action: 'decline' },
      { action: 'cancel' },
      { role: 'assistant', content: { type: 'text', text: 'short' }, model: 'm1' },
      { roots: [{ uri: 'file:///work' }] },
      { action: 'maybe' },
      'accept',
    ]);
  }

  arguments(tool: string): unknown {
    if (tool === 'greet') return { name: this.chance.pick(['Ada', '', 'a\u0000b', '👩‍👩‍👧']) };
    return this.chance.odds(0.5) ? {} : { value: this.chance.pick([1, 'x', null, [1, [2]], { a: { b: 'c' } }]) };
  }
}
