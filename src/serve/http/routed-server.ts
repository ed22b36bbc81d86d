import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
import { type ErrorReply, Refusal, toErrorReply } from './refusal.ts';
import { type Answers, createAnswers } from './responses.ts';
import { createSite, type Site, type SiteParts, type SiteSurroundings } from './site.ts';

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

interface Hosted {
  readonly opened: OpenedWorkspace;
  readonly site: Site;
  readonly answers: Answers;
  activeRequests: number;
  isEvicted: boolean;
}

/** A workspace that is open or being opened. */
interface Opening {
  readonly replica: string;
  readonly host: Promise<Hosted>;
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
  const hosted = new Map<string, Opening>();
  const present = new Map<string, Hosted>();
  const service = createFrontService(parts.catalogue, () => [...present.values()]);
  const sum = (read: (answers: Answers) => number): number =>
    [...present.values()].reduce((total, { answers }) => total + read(answers), 0);
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
  const hosts = createHosts({ parts, options, limits, common, hosted, present });
  const { directory } = parts;
  const tokens = oauth === undefined ? {} : { oauth: oauth.siteOf(null) };
  const shared = { ...frontOf(parts), ...tokens, service, keyring: directory, clock, checkWorkspace };
  const front = await createSite(shared, options, { ...common, answers });
  const workspacesOf = createWorkspacesOf(parts);
  dispatch(front, async (request) => {
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
  return { ...server, open: () => [...hosted.keys()], close };
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

interface HostsParts {
  readonly parts: RoutedParts;
  readonly options: RoutedOptions;
  readonly limits: HttpLimits;
  readonly common: Omit<SiteSurroundings, 'answers'>;
  readonly hosted: Map<string, Opening>;
  readonly present: Map<string, Hosted>;
}

/** A request's use of a workspace, which stays open until `leave` is called. */
interface Stay {
  readonly handle: RequestListener;
  leave(): void;
}

function createHosts({ parts, options, limits, common, hosted, present }: HostsParts) {
  const { openMax } = options;
  const closing = new Set<Promise<void>>();
  const bounds = { ...limits, cacheBytesMax: Math.floor(limits.cacheBytesMax / openMax) };
  const open = async (workspace: string): Promise<Hosted> => {
    const opened = await parts.open(workspace);
    const answers = createAnswers(bounds);
    const tokens = parts.oauth === undefined ? {} : { oauth: parts.oauth.siteOf(workspace) };
    // The keyring of a workspace has its own keys, which name no workspace.
    const workspacesOf = (key: Key | null): readonly string[] =>
      key?.workspaces === null ? [workspace] : parts.directory.workspacesOf(key);
    const own = { ...opened.parts, ...frontOf(parts), workspacesOf, clock: parts.clock, workspace, ...tokens };
    const site = await createSite(own, options, { ...common, answers });
    const host: Hosted = { opened, site, answers, activeRequests: 0, isEvicted: false };
    present.set(workspace, host);
    return host;
  };
  const closeHost = (host: Hosted): void => {
    const work = host.site.app
      .close()
      .then(() => host.opened.close())
      .finally(() => closing.delete(work));
    closing.add(work);
  };
  const evict = (workspace: string): void => {
    const evicted = hosted.get(workspace);
    hosted.delete(workspace);
    const work = (evicted as Opening).host.then(
      (host) => {
        if (present.get(workspace) === host) present.delete(workspace);
        host.isEvicted = true;
        if (host.activeRequests === 0) closeHost(host);
      },
      () => undefined,
    );
    const tracked = work.finally(() => closing.delete(tracked));
    closing.add(tracked);
  };
  const enter = async (workspace: string): Promise<Stay> => {
    const replica = parts.replica(workspace);
    if ((hosted.get(workspace)?.replica ?? replica) !== replica) evict(workspace);
    const existing = hosted.get(workspace);
    if (existing === undefined && hosted.size >= openMax) evict(hosted.keys().next().value as string);
    const opening = existing ?? { replica, host: open(workspace) };
    // Re-insert at the end, so that the map is ordered from least to most recently used.
    hosted.delete(workspace);
    hosted.set(workspace, opening);
    try {
      const host = await opening.host;
      if (host.isEvicted && host.activeRequests === 0) return enter(workspace);
      host.activeRequests += 1;
      let isInside = true;
      const leave = (): void => {
        if (!isInside) return;
        isInside = false;
        host.activeRequests -= 1;
        if (host.isEvicted && host.activeRequests === 0) closeHost(host);
      };
      return { handle: host.site.app.routing as RequestListener, leave };
    } catch (thrown) {
      if (hosted.get(workspace) === opening) hosted.delete(workspace);
      throw thrown;
    }
  };
  const close = async (): Promise<void> => {
    for (const workspace of [...hosted.keys()]) evict(workspace);
    while (closing.size > 0) await Promise.allSettled(closing);
  };
  return { enter, close };
}

// Dispatches each request of the front server, whose limits apply to all, to the site of its workspace.
function dispatch({ app }: Site, choose: (request: IncomingMessage) => Promise<Stay | null>): void {
  const { server } = app;
  const [own] = server.listeners('request') as RequestListener[];
  if (own === undefined) throw new TypeError('the server has no request listener');
  // Pipelined responses that are still queued get no close event when their connection closes, so track them per
  // socket.
  const stays = new WeakMap<Socket, Set<() => void>>();
  server.on('connection', (socket: Socket) => {
    const leaving = new Set<() => void>();
    stays.set(socket, leaving);
    socket.once('close', () => {
      for (const leave of leaving) leave();
    });
  });
  const stayUntilAnswered = ({ leave }: Stay, socket: Socket, response: ServerResponse): void => {
    const leaving = stays.get(socket);
    leaving?.add(leave);
    response.once('close', () => {
      leaving?.delete(leave);
      leave();
    });
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse & { req: IncomingMessage }) => {
    const { socket } = request;
    choose(request).then(
      (stay) => {
        if (stay === null) return own(request, response);
        // The client disconnected while the workspace was being opened.
        if (response.destroyed || socket.destroyed) return stay.leave();
        stayUntilAnswered(stay, socket, response);
        stay.handle(request, response);
      },
      (thrown: unknown) => {
        const id = randomUUID();
        app.log.error({ id, err: thrown });
        refuse(response, toErrorReply(thrown, id));
      },
    );
  });
}

// The rest of the request is not read.
function refuse(response: ServerResponse, { status, headers, body }: ErrorReply): void {
  const type = { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...headers, ...type, connection: 'close' });
  response.end(body);
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
