/** Shorter ones are in too many words to be taken out. */
const SHORTEST = 4;
const GONE = '[redacted]';

/** Takes secrets out of lines of text; of one that has several lines, each line. */
export function redactor(secrets: readonly string[]): (line: string) => string {
  const parts = secrets
    .flatMap((secret) => secret.split(/\r?\n/))
    .map((part) => part.trim())
    .filter(({ length }) => length >= SHORTEST)
    .sort((one, other) => other.length - one.length);
  return (line) => parts.reduce((text, part) => text.replaceAll(part, GONE), line);
}
