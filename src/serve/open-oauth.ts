import type { OAuthSettings } from '../base/config/oauth-settings.ts';
import { SightlineError } from '../base/errors.ts';
import type { OAuth, OAuthParts } from './auth/oauth/oauth.ts';
import type { Log } from './telemetry/server-log.ts';

/** Dependencies of `openOAuth`. */
type Parts = Omit<OAuthParts, 'settings' | 'onState'> & { readonly log: Log };

/**
 * Creates the check of access tokens, which logs when the issuer's keys cannot be fetched; null without settings.
 *
 * @throws SightlineError `config_invalid` if several workspaces are served and the settings assign none to a token
 */
export async function openOAuth(settings: OAuthSettings | null, { log, ...parts }: Parts): Promise<OAuth | null> {
  if (settings === null) return null;
  const { issuer, grants, workspaceClaim } = settings;
  if (parts.standard === null && grants.length === 0 && workspaceClaim === null) {
    const message =
      'oauth assigns no workspace to a token; allowed with --role api: oauth.workspaceClaim, oauth.grants or both';
    throw new SightlineError('config_invalid', message);
  }
  const onState = (problem: unknown): void => {
    if (problem === null) log.logger.info({ issuer, msg: 'the keys of the OAuth issuer can be fetched again' });
    else log.logger.warn({ issuer, msg: `cannot fetch the keys of the OAuth issuer: ${(problem as Error).message}` });
  };
  // Loaded only if access tokens are accepted.
  const { createOAuth } = await import('./auth/oauth/oauth.ts');
  return createOAuth({ ...parts, settings, onState });
}
