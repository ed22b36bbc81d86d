import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { isServedBare } from '../../contract/formats.ts';
import type { Service } from '../../query/service.ts';
import type { Access } from '../auth/access.ts';
import { keyOf } from '../auth/authentication.ts';
import type { KeyDirectory } from '../auth/key-directory.ts';
import type { Key } from '../auth/keys.ts';
import { createLimiter } from '../auth/limiter.ts';
import type { OAuth } from '../auth/oauth/oauth.ts';
import { readSessionCookie } from '../auth/session-cookie.ts';
import type { Log } from '../telemetry/server-log.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { listenFor, type RunningServer, type ServerOptions } from './http-server.ts';
import { createListStreams } from './list-streams.ts';
import { splitWorkspace, toReadableUrl } from './paths.ts';
import { Refusal } from './refusal.ts';
import { type Answers, createAnswers } from './responses.ts';
import { createHosts, dispatch, type OpenedSite } from './site-hosts.ts';
import { createSite, type SiteParts, type SiteSurroundings } from './site.ts';

/** Maximum number of keys tracked by the rate limiter. */
const KEYS_MAX = 100_000;

/** Header that names the workspace of a request, if its credential opens several. */
const WORKSPACE_HEADER = 'x-sightline-workspace';
/** Maximum number of workspaces in an error message. */
const NAMED_MAX = 20;

/** Dependencies for serving several workspaces at one address. */
export interface RoutedParts {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: KeyDirectory;
  /** Access tokens that are accepted beside keys. */
  readonly oauth?: OAuth;
  /** Without them there are no pages. */
  readonly pages?: RoutedPages;
  /** Opens a workspace; `close` is called when it is no longer in use. */
  open(workspace: string): Promise<OpenedWorkspace>;
  /** Returns a text that changes when the workspace must be reopened, for example after a change of settings. */
  replica(workspace: string): string;
}

/**
 * Parts that the pages of all workspaces share: the list of workspaces, browser sessions, which open the workspaces of their keys, and the
 * folder of the built data pages.
 */
export type RoutedPages = Pick<SiteParts, 'fleet' | 'sessions' | 'app'>;

/** An open workspace. */
export interface OpenedWorkspace {
  readonly parts: Omit<SiteParts, 'clock' | 'workspace'>;
  close(): Promise<void>;
}

/** Options of a routed server. */
export interface RoutedOptions extends ServerOptions {
  /** Maximum number of open workspaces; the least recently used is closed first. */
  readonly openMax: number;
}

/** An open workspace with its site. */
interface Hosted extends OpenedSite {
  readonly opened: OpenedWorkspace;
  readonly answers: Answers;
}

/** A running server of several workspaces. */
export interface RoutedServer extends RunningServer {
  /** Returns the open workspaces, least recently used first. */
  open(): string[];
}

/**
 * Starts a server that serves each request from the workspace of its key, and resolves when it listens. If its key opens
 * several workspaces, the prefix `/w/{workspace}` or a header selects one. Requests without a key get the same responses as from a
 * server of one workspace.
 *
 * @throws Node's own error if it cannot listen
 */
export async function startRoutedServer(parts: RoutedParts, options: RoutedOptions): Promise<RoutedServer> {
  const { clock, log, oauth } = parts;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const state = { isStopping: false };
  const address = { baseUrl: '' };
  const { rateLimit } = options;
  const present = (): readonly Hosted[] => hosts.present();
  const service = createFrontService(parts.catalogue, present);
  const sum = (read: (answers: Answers) => number): number =>
    present().reduce((total, { answers }) => total + read(answers), 0);
  const answers = {
    ...createAnswers(limits),
    get running() {
      return sum((each) => each.running);
    },
    get waiting() {
      return sum((each) => each.waiting);
    },
    get cachedBytes() {
      return sum((each) => each.cachedBytes);
    },
  };
  const telemetry = options.metricsPort === null ? null : createTelemetry(service, answers, clock, null);
  const monotonic = clock.monotonic;
  const common = {
    limits,
    log,
    telemetry,
    // Shared by all workspaces, so that closing one does not reset the limits of its keys.
    limiter: rateLimit === 'off' ? undefined : createLimiter({ limit: rateLimit, monotonic, keysMax: KEYS_MAX }),
    lists: createListStreams(limits, monotonic),
    address,
    isFleet: true,
    isStopping: () => state.isStopping,
  };
  const hosts = createHosts({
    openMax: options.openMax,
    open: createOpen({ parts, options, limits, common }),
    version: parts.replica,
  });
  const { directory } = parts;
  const tokens = oauth === undefined ? {} : { oauth: oauth.siteOf(null) };
  const shared = { ...frontOf(parts), ...tokens, service, keyring: directory, clock, checkWorkspace };
  const { listener = null } = options;
  const front = await createSite(shared, options, { ...common, answers, listener });
  const workspacesOf = createWorkspacesOf(parts);
  dispatch(front.app, async (request) => {
    if (state.isStopping) return null;
    const opened = await workspacesOf(request);
    const named = workspaceNamed(request.url ?? '', request.headers);
    const workspace = named ?? (opened.length === 1 ? (opened[0] as string) : null);
    return workspace === null || !opened.includes(workspace) ? null : hosts.enter(workspace);
  });
  const server = await listenFor(front, options, common, () => {
    state.isStopping = true;
  });
  const close = async (): Promise<void> => {
    await server.close();
    await hosts.close();
  };
  return { ...server, open: hosts.names, close };
}

// Parts that the sites of the workspaces and the shared address have in common.
function frontOf({ directory, pages = {} }: RoutedParts): Pick<SiteParts, 'workspacesOf'> & RoutedPages {
  return { workspacesOf: directory.workspacesOf, ...pages };
}

// Returns the function that finds the workspaces of a request's key, access token or session. Their rights are checked by the sites.
function createWorkspacesOf({ directory, pages: { sessions } = {}, oauth }: RoutedParts) {
  return async (request: IncomingMessage): Promise<readonly string[]> => {
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

interface OpenParts {
  readonly parts: RoutedParts;
  readonly options: RoutedOptions;
  readonly limits: HttpLimits;
  readonly common: Omit<SiteSurroundings, 'answers'>;
}

// Returns the function that opens the site of a workspace.
function createOpen({ parts, options, limits, common }: OpenParts): (workspace: string) => Promise<Hosted> {
  const bounds = { ...limits, cacheBytesMax: Math.floor(limits.cacheBytesMax / options.openMax) };
  return async (workspace) => {
    const opened = await parts.open(workspace);
    const answers = createAnswers(bounds);
    const tokens = parts.oauth === undefined ? {} : { oauth: parts.oauth.siteOf(workspace) };
    // The keyring of a workspace has its own keys, which name no workspace.
    const workspacesOf = (key: Key | null): readonly string[] =>
      key?.workspaces === null ? [workspace] : parts.directory.workspacesOf(key);
    const own = { ...opened.parts, ...frontOf(parts), workspacesOf, clock: parts.clock, workspace, ...tokens };
    const site = await createSite(own, options, { ...common, answers });
    return { opened, answers, site, close: opened.close };
  };
}

function createFrontService(catalogue: Catalogue, present: () => readonly Hosted[]): Service {
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
    limitedTo: () => createFrontService(catalogue, present),
    load: () =>
      present()
        .map(({ opened }) => opened.parts.service.load())
        .reduce(
          (total, { running, waiting }) => ({
            running: total.running + running,
            waiting: total.waiting + waiting,
          }),
          { running: 0, waiting: 0 },
        ),
    newest: async () => nothing(),
    // Readiness of the server itself; the state of a workspace is reported only with its key.
    freshness: async () => ({ ready: true, syncedAt: null, status: null, dataVersion: null, resources: [] }),
    close: async () => undefined,
  };
}
