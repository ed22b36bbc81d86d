import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { isServedBare } from '../../contract/formats.ts';
import type { Service } from '../../read/service.ts';
import type { Access } from '../auth/access.ts';
import { keyOf } from '../auth/authentication.ts';
import type { KeyDirectory } from '../auth/key-directory.ts';
import type { OAuth } from '../auth/oauth/oauth.ts';
import { readSessionCookie } from '../auth/session-cookie.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Fleet } from '../data/fleet.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { splitWorkspace, toReadableUrl } from './paths.ts';
import { Refusal } from './refusal.ts';
import { createAnswers } from './responses.ts';
import type { SiteParts } from './site.ts';

/** Header that names the workspace of a request, if its credential opens several. */
const WORKSPACE_HEADER = 'x-sightline-workspace';
/** Maximum number of workspaces in an error message. */
const NAMED_MAX = 20;

/** Several workspaces at one address. */
export interface SharedAddressParts {
  readonly catalogue: Catalogue;
  readonly directory: KeyDirectory;
  /** The list of workspaces; undefined if there are no pages. */
  readonly fleet: Fleet | undefined;
}

/** Credentials in addition to keys. */
interface Credentials {
  /** Browser sessions, which open the workspaces of their keys. */
  readonly sessions?: Sessions | undefined;
  readonly oauth?: OAuth;
}

/**
 * The address of several workspaces. The credential of a request selects its workspace. If it opens several, the prefix `/w/{workspace}` or
 * a header selects one.
 */
export interface SharedAddress {
  /** Returns the workspace of a request; null if it selects none that its credential opens. Its rights are checked by the site. */
  select(request: IncomingMessage): Promise<string | null>;
  /** The site of requests that select no workspace. Requests without a key get the same responses as from a server of one workspace. */
  readonly site: SiteParts;
}

/** Creates the address of several workspaces. */
export function createSharedAddress(
  { catalogue, directory }: SharedAddressParts,
  { sessions, oauth }: Credentials,
): SharedAddress {
  const openedBy = async (request: IncomingMessage): Promise<readonly string[]> => {
    const text = keyOf(request.headers);
    if (text !== undefined) {
      const key = directory.find(text);
      return key === null ? ((await oauth?.workspacesOf(request)) ?? []) : directory.workspacesOf(key);
    }
    const cookie = readSessionCookie(request.headers);
    const session = cookie === null ? null : (sessions?.find(cookie) ?? null);
    if (session === null) return [];
    const key = session.keyId === null ? null : directory.byId(session.keyId);
    return session.keyId !== null && key === null ? [] : directory.workspacesOf(key);
  };
  return {
    select: async (request) => {
      const opened = await openedBy(request);
      const named = workspaceNamed(request.url ?? '', request.headers);
      const workspace = named ?? (opened.length === 1 ? (opened[0] as string) : null);
      return workspace === null || !opened.includes(workspace) ? null : workspace;
    },
    site: {
      service: createEmptyService(catalogue),
      keyring: directory,
      answers: createAnswers(HTTP_LIMITS),
      workspace: null,
      workspacesOf: directory.workspacesOf,
      checkWorkspace,
      ...(oauth === undefined ? {} : { oauth: oauth.siteOf(null) }),
    },
  };
}

// The workspace that a request names by the prefix of its address, or by a header.
function workspaceNamed(url: string, headers: IncomingHttpHeaders): string | null {
  const header = headers[WORKSPACE_HEADER];
  return splitWorkspace(toReadableUrl(url)).workspace ?? (typeof header === 'string' ? header : null);
}

// The shared address responds if the credential does not open the named workspace, or opens several and none is named.
function checkWorkspace({ originalUrl, headers, routeOptions }: FastifyRequest, { workspaces }: Access): void {
  if (routeOptions.config.endpoint?.isPage === true) return;
  if (workspaceNamed(originalUrl, headers) !== null) {
    throw new Refusal('not_found', 'The workspace does not exist, or the key does not open it.');
  }
  const shown = workspaces.slice(0, NAMED_MAX).join(', ') + (workspaces.length > NAMED_MAX ? ', …' : '');
  const message = `The key opens ${workspaces.length} workspaces; name one with /w/WORKSPACE before the path, or with X-Sightline-Workspace.`;
  throw new Refusal('forbidden', message, {}, { allowed: shown });
}

function createEmptyService(catalogue: Catalogue): Service {
  const nothing = (): never => {
    throw new SightlineError('no_data', 'API key required to select a workspace');
  };
  return {
    catalogue,
    ask: async () => nothing(),
    namesOf: () => ({}),
    isBare: (resource) => isServedBare(resource, null),
    mayRead: () => true,
    formsOf: () => null,
    conventions: () => null,
    doubts: () => new Map(),
    running: async () => null,
    limitedTo: () => createEmptyService(catalogue),
    load: () => ({ running: 0, waiting: 0 }),
    newest: async () => nothing(),
    // Readiness of the server itself; the state of a workspace is reported only with its key.
    freshness: async () => ({ ready: true, syncedAt: null, status: null, dataVersion: null, resources: [] }),
    close: async () => undefined,
  };
}
