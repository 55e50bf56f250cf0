import {
  type Answer,
  fieldOf,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Question,
} from '../../core/index.ts';
import { oneLine, safe } from '../format.ts';
import { hostOf } from './describe.ts';
import { checked, expectationOf, readWord } from './schema-value.ts';

/** Undefined: put off; the question stays open. */
type Asked<Value> = Promise<Value | undefined>;

/** Asks the person at the terminal. The words are the server's: taken to be hostile, and shown with where they come from. */
export async function askPerson(question: Question, origin: string, signal: AbortSignal): Asked<Answer> {
  if (question.kind !== 'form' && question.kind !== 'url') return undefined;
  const { isCancel, note, select } = await import('@clack/prompts');
  // Some terminals do not know their width and say 0, at which every letter gets a line.
  process.stderr.columns ||= 80;
  process.stderr.rows ||= 24;
  const io = { input: process.stdin, output: process.stderr, signal };
  const words = [safe(question.message)];
  if (question.kind === 'url')
    words.push('', `page on ${oneLine(hostOf(question.url))}:`, oneLine(question.url), 'It is not opened for you.');
  note(words.join('\n'), `${oneLine(origin)} asks`, { output: process.stderr });
  const fields = question.kind === 'form' && isJsonObject(question.schema.properties) ? question.schema.properties : {};
  const what = await select({
    ...io,
    message: 'What now?',
    options: [
      { value: 'accept', label: question.kind === 'url' ? 'I have been there' : 'Answer' },
      { value: 'decline', label: 'Decline' },
      { value: 'later', label: 'Leave it open' },
    ],
  });
  if (isCancel(what) || what === 'later') return undefined;
  if (what === 'decline') return { action: 'decline' };
  const content: [string, JsonValue][] = [];
  for (const name of Object.keys(fields)) {
    const value = await askField(name, (question as { schema: JsonObject }).schema, signal);
    if (value === undefined) return undefined;
    if (value !== 'left out') content.push([name, value.value]);
  }
  return { action: 'accept', content: Object.fromEntries(content) };
}

async function askField(name: string, root: JsonObject, signal: AbortSignal): Asked<{ value: JsonValue } | 'left out'> {
  const { confirm, isCancel, multiselect, select, text } = await import('@clack/prompts');
  const io = { input: process.stdin, output: process.stderr, signal };
  const field = fieldOf(root, name);
  const { title, description, items } = field.schema;
  const required = Array.isArray(root.required) && root.required.includes(name);
  const about = typeof description === 'string' ? `: ${description}` : '';
  const message = oneLine(`${typeof title === 'string' ? title : name}${about}${required ? '' : ' (optional)'}`);
  const preset = field.schema.default;
  if (field.types.length === 1 && field.types[0] === 'boolean') {
    const said = await confirm({ ...io, message, ...(typeof preset === 'boolean' && { initialValue: preset }) });
    return isCancel(said) ? undefined : { value: said };
  }
  const choices = choicesOf(field.schema);
  if (choices.length > 0) {
    const none = { value: '', label: '(nothing)' };
    const options = required ? choices : [none, ...choices];
    const said = await select({ ...io, message, options, ...(typeof preset === 'string' && { initialValue: preset }) });
    if (isCancel(said)) return undefined;
    return said === '' && !required ? 'left out' : { value: said };
  }
  const several = isJsonObject(items) ? choicesOf(items) : [];
  if (several.length > 0) {
    const said = await multiselect({ ...io, message, options: several, required });
    return isCancel(said) ? undefined : { value: said };
  }
  const read = (word = '') => (word === '' && !required ? undefined : readWord(word, field));
  const said = await text({
    ...io,
    message,
    ...(preset !== undefined && {
      initialValue: typeof preset === 'string' ? oneLine(preset) : JSON.stringify(preset),
    }),
    validate: (word) => (read(word)?.ok === false ? oneLine(`Expected ${expectationOf(field)}`) : undefined),
  });
  if (isCancel(said)) return undefined;
  const value = read(said);
  if (value === undefined) return 'left out';
  return value.ok && checked(value.value, field).ok ? { value: value.value } : undefined;
}

/** Values of an `enum`, or of `oneOf`/`anyOf` with titles. */
function choicesOf(schema: JsonObject): { value: string; label: string }[] {
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  if (Array.isArray(schema.enum)) {
    return schema.enum
      .filter((value) => typeof value === 'string')
      .map((value, n) => ({ value, label: oneLine(typeof names[n] === 'string' ? names[n] : value) }));
  }
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) ?? [];
  return titled
    .filter(isJsonObject)
    .flatMap(({ const: value, title }) =>
      typeof value === 'string' ? [{ value, label: oneLine(typeof title === 'string' ? title : value) }] : [],
    );
}
