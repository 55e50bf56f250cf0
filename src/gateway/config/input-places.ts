import { fieldOf, isJsonObject, itemTypesOf, type JsonObject } from '../../core/index.ts';
import { closest } from './problems.ts';
import { type Sheet, shown } from './sheet.ts';

/** What a value of the input becomes: words of a command, a flag that is there or not, an option with its value, a text. */
export type InputPlace = 'word' | 'flag' | 'option' | 'text';

const WORDS = ['string', 'number', 'integer'];
/** What a place takes, in a list too where that is told. */
const FITTING: Record<Exclude<InputPlace, 'text'>, { types: readonly string[]; lists: boolean; expected: string }> = {
  word: { types: WORDS, lists: true, expected: 'a text, a number, or a list of those' },
  option: {
    types: [...WORDS, 'boolean'],
    lists: true,
    expected: 'a text, a number, true or false, or a list of those',
  },
  flag: { types: ['boolean'], lists: false, expected: 'true or false' },
};

/** Checks the places that a tool leaves for its input against the schema of that. */
export class InputPlaces {
  readonly #schema: JsonObject | undefined;
  readonly #sheet: Sheet;

  /** @param schema undefined: it is wrong itself, which is told already */
  constructor(schema: JsonObject | undefined, sheet: Sheet) {
    this.#schema = schema;
    this.#sheet = sheet;
  }

  /** @param pointer where the name of the property stands */
  check(pointer: string, name: string, place: InputPlace): void {
    const schema = this.#schema;
    if (schema === undefined) return;
    const declared = isJsonObject(schema.properties) ? Object.keys(schema.properties) : [];
    if (!declared.includes(name)) {
      const meant = closest(name, declared);
      const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
      this.#sheet.report(pointer, `expected a property that the schema of the input names, got ${shown(name)}${hint}`);
      return;
    }
    if (place === 'text') return; // Which anything can be.
    const { types, lists, expected } = FITTING[place];
    const field = fieldOf(schema, name);
    const items = field.types.includes('array') ? itemTypesOf(schema, field) : [];
    const fits = (type: string): boolean => types.includes(type) || type === 'null';
    const fitting =
      field.types.length > 0 &&
      field.types.every((type) =>
        type === 'array' ? lists && items.length > 0 && items.every((item) => types.includes(item)) : fits(type),
      );
    if (fitting) return;
    const got = field.types.length === 0 ? 'anything' : field.types.join(' or ');
    const of = field.types.includes('array') ? ` of ${items.length === 0 ? 'anything' : items.join(' or ')}` : '';
    this.#sheet.report(pointer, `expected a property that is ${expected}, got one that may be ${got}${of}`);
  }
}
