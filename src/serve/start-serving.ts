import type { Clock } from '../base/clock.ts';
import type { OAuthSettings } from '../base/config/oauth-settings.ts';
import { SightlineError } from '../base/errors.ts';
import { writeServerRecord } from '../workspace/server-record.ts';
import type { OAuth, OAuthParts } from './auth/oauth/oauth.ts';
import { createLink, openSessions } from './auth/sessions.ts';
import { HTTP_LIMITS } from './http/http-limits.ts';
import { type RunningServer, type ServerOptions, type ServerParts, startServer } from './http/http-server.ts';
import { type Log, type LogTarget, openLog } from './telemetry/server-log.ts';

/** Options that servers of one and of several workspaces have. */
export interface ServingOptions extends Omit<ServerOptions, 'limits'> {
  readonly queryTimeoutMs: number;
  /** Folder of the built data pages; default: the pages of this package. */
  readonly app?: URL;
  readonly log: LogTarget;
  /** The authorization server whose access tokens are accepted; default: none. */
  readonly oauth?: OAuthSettings | null;
}

/** A server with the parts that depend on its workspaces. */
export interface Serving
  extends
    Pick<ServerParts, 'clock' | 'workspaces' | 'open' | 'version' | 'monitored'>,
    Pick<OAuthParts, 'isWorkspace' | 'standard'> {
  /** Folder of the sessions and of the record with which `sightline open` finds the server; null if there are no pages. */
  readonly folder: string | null;
  /** The command that runs the server, for the record. */
  readonly command: string;
}

/** A running server, and signing in to it through its folder. */
export interface ServedAddress extends RunningServer {
  /** Creates a sign-in link; null if there are no pages, or the folder cannot be written to. */
  signInUrl(): Promise<string | null>;
}

/** A running server. `keys` is the number of API keys at the start. */
export interface KeyedServer extends ServedAddress {
  readonly keys: number;
}

/** Starts a server, and records it in its folder. Resolves once it listens. */
export async function startServing(
  { folder, command, isWorkspace, standard, ...serving }: Serving,
  { queryTimeoutMs, app, oauth: settings = null, ...options }: ServingOptions,
): Promise<ServedAddress> {
  const { clock } = serving;
  const log = openLog(options.log, options.logLevel, clock);
  const oauth = await openOAuth(settings, { clock, isWorkspace, standard }, log);
  // A connection is idle while its query runs, so the timeout exceeds that of queries.
  const limits = { idleTimeoutMs: Math.max(HTTP_LIMITS.idleTimeoutMs, 2 * queryTimeoutMs) };
  const parts = {
    ...serving,
    log,
    ...(app === undefined ? {} : { app }),
    ...(folder === null ? {} : { sessions: openSessions(folder, clock) }),
    ...(oauth === null ? {} : { oauth }),
  };
  const server = await startServer(parts, { ...options, limits });
  const origin = new URL(server.baseUrl).origin;
  // A folder that cannot be written to has no sign-in links.
  const forget = folder === null ? null : await writeServerRecord(folder, origin, command).catch(() => null);
  return {
    ...server,
    signInUrl: () => (folder === null ? Promise.resolve(null) : signInUrl(folder, origin, clock)),
    close: async () => {
      await Promise.all([forget?.(), server.close()]);
    },
  };
}

function signInUrl(folder: string, origin: string, clock: Clock): Promise<string | null> {
  return createLink(folder, clock.now()).then(
    (token) => `${origin}/sign-in#${token}`,
    () => null,
  );
}

/**
 * Creates the check of access tokens, which logs when the issuer's keys cannot be fetched; null without settings.
 *
 * @throws SightlineError `config_invalid` if several workspaces are served and the settings assign none to a token
 */
async function openOAuth(
  settings: OAuthSettings | null,
  parts: Pick<OAuthParts, 'clock' | 'isWorkspace' | 'standard'>,
  { logger }: Log,
): Promise<OAuth | null> {
  if (settings === null) return null;
  const { issuer, grants, workspaceClaim } = settings;
  if (parts.standard === null && grants.length === 0 && workspaceClaim === null) {
    const message =
      'oauth assigns no workspace to a token; allowed with --role api: oauth.workspaceClaim, oauth.grants or both';
    throw new SightlineError('config_invalid', message);
  }
  const onState = (problem: unknown): void => {
    if (problem === null) logger.info({ issuer, msg: 'the keys of the OAuth issuer can be fetched again' });
    else logger.warn({ issuer, msg: `cannot fetch the keys of the OAuth issuer: ${(problem as Error).message}` });
  };
  // Loaded only if access tokens are accepted.
  const { createOAuth } = await import('./auth/oauth/oauth.ts');
  return createOAuth({ ...parts, settings, onState });
}
