import { addressesOf } from '../../../adapters/http/send.ts';
import { settingsOf } from '../../../adapters/http/settings.ts';
import type { HttpToolConfig } from '../../../gateway/config/types.ts';
import type { ApiFacts } from './facts.ts';

/** Whether an API could be asked: it is not, only its name is resolved. @param from the file that has it */
export async function lookAtApi({ name, options }: HttpToolConfig, from: string, timeoutMs: number): Promise<ApiFacts> {
  const { reach } = settingsOf(options);
  const facts = { name, from, origin: reach.origin };
  try {
    await addressesOf(new URL(reach.origin), reach, AbortSignal.timeout(timeoutMs));
    return facts;
  } catch (error) {
    return { ...facts, trouble: (error as Error).message };
  }
}
