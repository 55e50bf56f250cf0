// What is not known before a world is there (ids, tokens) stands in a message as `{{words}}`, so that a message means the
// same in every run, and a saved case does not depend on the seed it came from.

const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** `words` is what stands between the braces; `undefined` leaves it standing, as a name nobody knows. */
export type Resolve = (words: string) => string | undefined;

export function fill(template: string, resolve: Resolve): string {
  return template.replace(PLACEHOLDER, (whole, words: string) => repeated(words) ?? resolve(words) ?? whole);
}

/** `{{repeat TEXT COUNT}}`: a message of a megabyte is a short line in a case. */
function repeated(words: string): string | undefined {
  const [, text, count] = /^repeat (.+) (\d+)$/.exec(words) ?? [];
  return text === undefined ? undefined : text.repeat(Number(count));
}
