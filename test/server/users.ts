import { Peer, type Served } from './peer.ts';

/** The same server as seen by others: each name is the subject of a verified token, no name is no token. */
export function users(served: Served): (name?: string) => Pick<Served, 'peer'> {
  return (name) => {
    const authInfo = {
      token: `token of ${name}`,
      clientId: 'the app',
      scopes: [],
      extra: { iss: 'https://id', sub: name },
    };
    const options = name === undefined ? {} : { authInfo };
    return { peer: new Peer((request) => served.server.fetch(request, options), served.validator) };
  };
}
