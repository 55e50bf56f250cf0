import type { Check } from './check.ts';
import { Drain } from './drain.ts';
import { Errors } from './errors.ts';
import { Final } from './final.ts';
import { Found } from './found.ts';
import { Isolation } from './isolation.ts';
import { Leases } from './leases.ts';
import { Life } from './life.ts';
import { Questions } from './questions.ts';
import { Repeats } from './repeats.ts';
import { Settled } from './settled.ts';
import { Work } from './work.ts';

export type { View } from './check.ts';

/** Every checker, fresh for one run. A new promise gets a file and a line here. */
export const checks = (): Check[] => [
  new Found(),
  new Final(),
  new Leases(),
  new Work(),
  new Settled(),
  new Drain(),
  new Repeats(),
  new Isolation(),
  new Questions(),
  new Life(),
  new Errors(),
];
