import type { Answer } from '../../core/index.ts';
import type { AskedForm } from './system.ts';

/** What jobs ask. */
export const FORM: AskedForm = {
  kind: 'form',
  message: 'Go on?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};
export const YES: Answer = { action: 'accept', content: { ok: true } };

/** What jobs write: lines that are easily broken. */
export const LINES = ['one', '  two, further in', 'drei für Ümläüte', '四 🙂', 'five', 'six', 'seven'];
