import { type Address, parseAddress } from '../../gateway/config/address.ts';
import { CliError } from '../errors.ts';

/** What `--listen` says. @throws {CliError} where it is no address to listen at */
export function listenOption(text: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new CliError(`--listen: expected HOST:PORT, such as 127.0.0.1:7717, got ${JSON.stringify(text)}`);
}
