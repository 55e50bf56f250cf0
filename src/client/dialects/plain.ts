import { decodeResult } from '../../wire/rev2025-11-25/client.ts';
import { ProgressTokens } from '../progress.ts';
import { RemoteGoneError } from '../remote-errors.ts';
import {
  answeredWhereAsked,
  type Dialect,
  endedOtherwise,
  immediate,
  listing,
  metaOf,
  read,
  type Speaking,
} from './dialect.ts';

/** Sessions of servers without tasks: every call waits for its end, and there is nothing to come back to. */
export function plain(speaking: Speaking): Dialect {
  const { connection } = speaking;
  const tokens = new ProgressTokens(connection);
  const none = async (): Promise<never> => {
    throw new RemoteGoneError('the server has no tasks');
  };
  return {
    revision: 'none',
    ...listing(speaking),
    async start(wanted) {
      const { name, arguments: args, signal, unwanted, onProgress } = wanted;
      const id = connection.nextId();
      const _meta = { ...metaOf(speaking, wanted), ...tokens.open(id, onProgress) };
      try {
        const result = await connection.request(
          'tools/call',
          { name, arguments: args, _meta },
          { id, signal, unwanted },
        );
        return immediate(read(decodeResult(result)));
      } catch (error) {
        return endedOtherwise(error, wanted);
      } finally {
        tokens.answered(id);
      }
    },
    get: none,
    outcome: none,
    answer: answeredWhereAsked,
    cancel: none,
  };
}
