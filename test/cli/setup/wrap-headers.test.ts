import { describe, expect, it } from 'vitest';
import { parseWrapHeader } from '../../../src/cli/gateway/setup/own-command.ts';
import { wrapHeaders } from '../../../src/cli/gateway/wrap-headers.ts';

const reference = (name: string) => ['$', '{', name, '}'].join('');
const env = { LONGCALL_HEADER_1: `Bearer ${reference('TOKEN')}`, TOKEN: 'secret', PLAIN: 'a b', TWO: 'a\r\nb' };

describe('headers of a server that is wrapped', () => {
  it('are taken out of variables, and references in them replaced', () => {
    const header = ['X-One: 1', `X-Two: ${reference(' env:TOKEN ')}`, `X-Three: ${reference('NONE:-else')}`];
    const headerEnv = ['Authorization=LONGCALL_HEADER_1', 'x-four=PLAIN'];
    expect(wrapHeaders({ header, headerEnv }, env)).toEqual({
      'X-One': '1',
      'X-Two': 'secret',
      'X-Three': 'else',
      Authorization: 'Bearer secret',
      'x-four': 'a b',
    });
    expect(wrapHeaders({}, env)).toEqual({});
  });

  it.each([
    [{ header: ['nothing'] }, "--header: expected 'Name: value'"],
    [{ headerEnv: ['A'] }, '--header-env: expected NAME=VARIABLE, got "A"'],
    [{ headerEnv: ['A=B C'] }, '--header-env: expected NAME=VARIABLE'],
    [{ headerEnv: ['A b=C'] }, '--header-env: expected NAME=VARIABLE'],
    [{ headerEnv: ['A=GONE'] }, '--header-env A: the environment variable GONE is not set'],
    [{ header: [`A: ${reference('GONE')}`] }, '--header "A": the environment variable GONE is not set'],
    [{ header: ['A: 1'], headerEnv: ['a=PLAIN'] }, '--header-env: the header "a" is given twice'],
    [{ headerEnv: ['A=TWO'] }, '--header-env: the value of "A" has more than one line'],
  ])('are refused with the option that makes no sense: %j', (options, message) => {
    expect(() => wrapHeaders(options, env)).toThrow(message);
  });

  it('are named by what a header and a variable may be called', () => {
    expect(parseWrapHeader('X-A.b=VAR_1')).toEqual({ name: 'X-A.b', variable: 'VAR_1' });
    for (const text of ['', '=', 'A=', '=B', 'A=1B', 'A:B=C', 'A=B=C']) expect(parseWrapHeader(text)).toBeUndefined();
  });
});
