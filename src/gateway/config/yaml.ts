import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import type { JsonObject, JsonValue } from '../../core/index.ts';
import { fieldOf, inside, type Place, Sheet } from './sheet.ts';

/** How much a file may hold, what its aliases stand for included. */
const MAX_NODES = 20_000;
const MAX_DEPTH = 16;

/** The parser's words quote the file, which may hold what should not be there. These do not. */
const SYNTAX: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias takes no tag and no anchor',
  BAD_ALIAS: 'not the name of an alias',
  BAD_COLLECTION_TYPE: 'the tag does not fit what follows',
  BAD_DIRECTIVE: 'a directive that is not known',
  BAD_DQ_ESCAPE: 'an escape that double quotes do not know; single quotes have none',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BAD_PROP_ORDER: 'anchors and tags stand after the indicator',
  BAD_SCALAR_START: 'a text that begins like this needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping within a mapping begins on a line of its own',
  BLOCK_IN_FLOW: 'within [ ] and { } nothing goes by indentation',
  DUPLICATE_KEY: 'this name is there already',
  KEY_OVER_1024_CHARS: 'a name of more than 1024 characters',
  MISSING_CHAR: 'something is missing here: a closing quote or bracket, a comma, a colon or a space',
  MULTILINE_IMPLICIT_KEY: 'a name goes over several lines; is a colon or a quote missing?',
  MULTIPLE_ANCHORS: 'more than one anchor',
  MULTIPLE_DOCS: 'expected one document, got another behind ---',
  MULTIPLE_TAGS: 'more than one tag',
  NON_STRING_KEY: 'expected a text as name',
  RESOURCE_EXHAUSTION: 'more than is read',
  TAB_AS_INDENT: 'a tab does not indent; use spaces',
  TAG_RESOLVE_FAILED: 'expected no tag, got one',
};

/** A file's value, with where each part of it stands. What is not YAML is a problem of the sheet, and of the value nothing. */
export function readYaml(text: string): { sheet: Sheet; value: JsonValue | undefined } {
  const sheet = new Sheet();
  const lines = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const tell = (offset: number, message: string, field = ''): void => sheet.tell(placeOf(offset), field, message);
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      stringKeys: true,
      version: '1.2',
      schema: 'core',
      resolveKnownTags: false,
      logLevel: 'error', // Silent, it would not even tell of a second document.
    });
    for (const { code, pos } of [...document.errors, ...document.warnings]) {
      const field = code === 'DUPLICATE_KEY' ? keyAt(document, pos[0]) : '';
      tell(pos[0], SYNTAX[code] ?? 'this is not YAML', field);
    }
    if (document.directives?.yaml.explicit === true && document.directives.yaml.version !== '1.2') {
      tell(0, 'expected YAML 1.2, got another %YAML');
    }
    if (sheet.problems.length > 0) return { sheet, value: undefined };
    const reader = new Reader(sheet, placeOf, (node) => (isAlias(node) ? node.resolve(document) : node));
    return { sheet, value: reader.value(document.contents, '', undefined, 0) };
  } catch (error) {
    if (error instanceof Unreadable) tell(error.offset, error.message);
    else if (error instanceof RangeError)
      tell(0, `expected at most ${MAX_DEPTH} levels, got more`); // The stack's end.
    else throw error;
    return { sheet, value: undefined };
  }
}

/** The member whose name stands there. */
function keyAt(document: Document, offset: number): string {
  let field = '';
  visit(document, {
    Pair(_key, pair, ancestors) {
      if ((pair.key as Node | null)?.range?.[0] !== offset) return undefined;
      const keys = [...ancestors, pair].flatMap((node, at, path): (string | number)[] => {
        if (isPair(node)) return isScalar(node.key) ? [String(node.key.value)] : [];
        return isSeq(node) ? [node.items.indexOf(path[at + 1])] : [];
      });
      field = fieldOf(inside('', ...keys));
      return visit.BREAK;
    },
  });
  return field;
}

/** At a place of the file. */
class Unreadable extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

type PlaceOf = (offset: number) => Place;
/** What an alias stands for; other nodes as they are. */
type Resolve = (node: Node | null) => Node | null | undefined;

/** Makes plain values of nodes, without prototypes: a name like `__proto__` is one as any other. */
class Reader {
  #nodes = 0;
  readonly #sheet: Sheet;
  readonly #placeOf: PlaceOf;
  readonly #resolve: Resolve;

  constructor(sheet: Sheet, placeOf: PlaceOf, resolve: Resolve) {
    this.#sheet = sheet;
    this.#placeOf = placeOf;
    this.#resolve = resolve;
  }

  value(written: Node | null, pointer: string, key: Place | undefined, depth: number): JsonValue {
    const offset = written?.range?.[0] ?? 0;
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) throw new Unreadable(`expected at most ${MAX_NODES} values, aliases included`, offset);
    if (depth > MAX_DEPTH) throw new Unreadable(`expected at most ${MAX_DEPTH} levels, got more`, offset);
    const node = this.#resolve(written);
    if (node === undefined) throw new Unreadable('an alias of what is not there before it', offset);
    // A problem is shown where the text stands that is wrong, also if it stands there under an anchor.
    const value = node?.range === undefined || node.range === null ? key : this.#placeOf(node.range[0]);
    const place = value ?? { line: 1, column: 1 };
    const text = isScalar(node) ? (node.source ?? String(node.value)) : undefined;
    this.#sheet.members.set(pointer, { key: key ?? place, value: place, ...(text !== undefined && { text }) });
    if (isMap(node)) return this.#map(node, pointer, depth);
    if (isSeq(node)) {
      return node.items.map((item, at) => {
        const itemAt = (item as Node).range?.[0] ?? offset;
        return this.value(item as Node, inside(pointer, at), this.#placeOf(itemAt), depth + 1);
      });
    }
    return isScalar(node) ? (node.value as JsonValue) : null;
  }

  #map(node: { items: readonly { key: unknown; value: unknown }[] }, pointer: string, depth: number): JsonObject {
    const object = Object.create(null) as JsonObject;
    for (const { key, value } of node.items) {
      const name = this.#resolve(key as Node | null);
      const word = isScalar(name) ? String(name.value ?? '') : '';
      const keyAt = this.#placeOf((key as Node | null)?.range?.[0] ?? 0);
      object[word] = this.value(value as Node | null, inside(pointer, word), keyAt, depth + 1);
    }
    return object;
  }
}
