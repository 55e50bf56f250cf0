// What every client of the comparison answers when it is asked something: always the same.
import { pathToFileURL } from 'node:url';
import type { Json } from '../../support/messages.ts';

/** Of all kinds that servers can ask for; of tasks only where a client says so itself. */
export const ABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

const FORM: Json = {
  name: 'Ada',
  check: true,
  email: 'ada@example.org',
  homepage: 'https://example.org',
  birthdate: '1815-12-10',
  integer: 42,
  number: 3.5,
  interpretation: 'snake',
  firstLine: 'a poem',
  untitledSingleSelectEnum: 'Monica',
  favoriteColor: 'Blue',
  agreeToTerms: true,
};

export function answerTo(method: string, params: Json, folder: string): Json {
  switch (method) {
    case 'roots/list':
      return { roots: [{ uri: pathToFileURL(folder).href, name: 'the folder' }] };
    case 'sampling/createMessage': {
      const said = JSON.stringify(params['messages']).length > 0 ? 'A haiku about tasks.' : '';
      // In the order of the schema: servers print it, and the order of members means nothing.
      return { role: 'assistant', content: { type: 'text', text: said }, model: 'a-model', stopReason: 'endTurn' };
    }
    case 'elicitation/create':
      return params['mode'] === 'url' ? { action: 'accept' } : { action: 'accept', content: formFor(params) };
    default:
      throw new Error(`asked for ${method}`);
  }
}

/** As much of the form as the schema has. */
function formFor({ requestedSchema }: Json): Json {
  const { properties } = requestedSchema as { properties: Json };
  return Object.fromEntries(Object.entries(FORM).filter(([name]) => name in properties));
}
