import { type HttpAnswer, headerOf } from './answer.ts';
import { firstOf, listOf } from './json-path.ts';
import type { UrlSource } from './options.ts';
import { urlIn } from './send.ts';
import { urlTemplate } from './url-template.ts';
import { MissingValueError, textOf, type Values } from './values.ts';

/** What a URL may be told by. */
export interface Told {
  /** What the service answered; of a job that was found, without what was asked then. */
  answer?: HttpAnswer | undefined;
  values: Values;
  /** Absent: that is not known any more. */
  start?: { url: URL; method: string };
  status?: URL | undefined;
}

/** `undefined`: it tells none. @throws {RefusedError} when what it tells is no URL to ask for */
export type TellUrl = (told: Told) => URL | undefined;

/** The first of several sources that is there. @throws {TypeError} naming `field` */
export function urlSources(sources: UrlSource | readonly UrlSource[] | undefined, field: string): TellUrl {
  const tells = listOf(sources).map((source, at) =>
    urlSource(source, Array.isArray(sources) ? `${field}[${at}]` : field),
  );
  return (told) => {
    for (const tell of tells) {
      const url = tell(told);
      if (url !== undefined) return url;
    }
    return undefined;
  };
}

function urlSource(source: UrlSource, field: string): TellUrl {
  if (typeof source === 'string') {
    const make = urlTemplate(source, field, { relative: true });
    return ({ values, start, answer }) => {
      const base = start?.url ?? answer?.url;
      try {
        return base === undefined ? undefined : urlIn(make(values), base, field);
      } catch (error) {
        if (error instanceof MissingValueError) return undefined;
        throw error;
      }
    };
  }
  if ('header' in source) {
    return ({ answer }) => {
      const value = answer === undefined ? undefined : headerOf(answer, source.header);
      return value === undefined ? undefined : urlIn(value, (answer as HttpAnswer).url, `a ${source.header} header`);
    };
  }
  if ('answer' in source) {
    const find = firstOf(source.answer, `${field}.answer`);
    return ({ answer, values, start }) => {
      const value = textOf(find(values.answer), field);
      const base = answer?.url ?? start?.url;
      return value === undefined || base === undefined ? undefined : urlIn(value, base, field);
    };
  }
  if ('status' in source) return ({ status }) => (status === undefined ? undefined : behind(status, source.status));
  if ('start' in source) {
    const { methods } = source;
    return ({ start }) => {
      if (start === undefined) return undefined;
      return methods === undefined || methods.includes(start.method) ? behind(start.url, source.start) : undefined;
    };
  }
  throw new TypeError(`httpTool: ${field} must be a URL, or have one of header, answer, status and start`);
}

function behind(url: URL, suffix: string): URL {
  const made = new URL(url);
  made.pathname += suffix;
  return made;
}
