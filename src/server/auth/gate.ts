import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  OAuthError,
  OAuthErrorCode,
  verifyBearerToken,
} from '@modelcontextprotocol/server';
import { errorKind, type Logger } from '../../core/index.ts';
import { UnidentifiedCallerError } from '../principal.ts';
import type { TroubleLog } from '../trouble-log.ts';
import { type Authentication, AuthUnavailableError } from './authentication.ts';

/** When to try again after a 503. */
const RETRY_AFTER_SEC = 5;

/**
 * Lets a request in, as what its token says, or answers it. The token itself is in no answer and in no log.
 * @param ownPrincipal the server says itself whose a token is, so that it need not name a subject
 * @see 2025-11-25 and 2026-07-28 authorization, "Access Token Usage", "Error Handling"
 */
export function gate(
  auth: Authentication,
  options: { logger: Logger; trouble: TroubleLog; ownPrincipal: boolean },
): (request: Request) => Promise<AuthInfo | Response> {
  const { verifier, resourceMetadataUrl } = auth;
  const challenge = {
    requiredScopes: [...auth.requiredScopes],
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
  };
  const refuse = (error: unknown, header: string | null): Response => {
    const { logger, trouble } = options;
    if (error instanceof AuthUnavailableError) {
      trouble.note('error', {}, { reason: error.message }, 'tokens cannot be checked');
      return unavailable();
    }
    if (!(error instanceof OAuthError)) {
      trouble.note('error', { kind: errorKind(error) }, { error }, 'checking a token failed');
    } else if (header !== null) logger.info({ reason: error.message }, 'a token was refused');
    return bearerAuthChallengeResponse(error, challenge);
  };
  return async (request) => {
    const header = request.headers.get('authorization');
    try {
      const info = await verifyBearerToken(header, { verifier, ...challenge });
      if (!options.ownPrincipal) assertIdentified(auth, info);
      return info;
    } catch (error) {
      return refuse(error, header);
    }
  };
}

function assertIdentified(auth: Authentication, info: AuthInfo): void {
  try {
    auth.principal({ auth: info });
  } catch (error) {
    if (!(error instanceof UnidentifiedCallerError)) throw error;
    throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token does not say whose it is');
  }
}

/** Not 401: a client would throw a good token away and send its user to log in again. */
function unavailable(): Response {
  const error = new OAuthError(OAuthErrorCode.TemporarilyUnavailable, 'Tokens cannot be checked now; try again later');
  return Response.json(error.toResponseObject(), { status: 503, headers: { 'retry-after': String(RETRY_AFTER_SEC) } });
}
