import type { Tasks } from '../engine/index.ts';
import { encodeTooDeep, isTooDeep } from '../wire/depth.ts';
import { createdTask } from '../wire/rev-sep-1686/index.ts';
import { principalIfKnown } from './principal.ts';
import type { MessageExtraInfo } from './sdk.ts';
import type { Serving } from './serving.ts';

/**
 * What hears the messages of a connection before its SDK does, and keeps answers to requests of ours to itself: the SDK
 * knows nothing of those requests, and would call each answer an error. What is nested so deep that it could not be walked is
 * refused here.
 * @param connection `hear`: the SDK; `send`: to the client
 */
export function takingAnswers<Message extends object, Extra extends MessageExtraInfo>(
  { logger }: Tasks,
  { desk, principalOf }: Pick<Serving, 'desk' | 'principalOf'>,
  { hear, send }: { hear: (message: Message, extra?: Extra) => void; send: (message: object) => Promise<void> },
): (message: Message, extra?: Extra) => void {
  return (message, extra) => {
    if (isTooDeep(message)) {
      if (!('method' in message && 'id' in message)) return;
      send(encodeTooDeep(message)).catch((error) => {
        logger.info({ error }, 'a message that is nested too deep could not be refused');
      });
      return;
    }
    const answers = !('method' in message) && typeof (message as { id?: unknown }).id === 'string';
    if (!answers && createdTask(message) === undefined) {
      hear(message, extra);
      return;
    }
    desk
      .take(message, principalIfKnown(principalOf, extra?.authInfo))
      .then((taken) => {
        if (!taken) hear(message, extra);
      })
      .catch((error) => logger.warn({ error }, 'an answer could not be looked at'));
  };
}
