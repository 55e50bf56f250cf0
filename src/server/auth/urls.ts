const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whoever can change what is read from there can make tokens, so it is HTTPS, or this machine.
 * @throws {TypeError} for anything else, naming the option.
 */
export function secureUrl(option: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined) throw new TypeError(`${option}: ${JSON.stringify(value)} is not a URL`);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOCAL.has(url.hostname))) {
    throw new TypeError(`${option} must be an https URL, got ${value}`);
  }
  if (url.username !== '' || url.password !== '') throw new TypeError(`${option} must not carry a password`);
  if (url.hash !== '') throw new TypeError(`${option} must not have a fragment, got ${value}`);
  return url;
}
