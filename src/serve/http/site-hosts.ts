import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type ErrorReply, toErrorReply } from './refusal.ts';
import type { Site } from './site.ts';

/** A site and what it reads. `close` is called when the site is no longer in use. */
export interface OpenedSite {
  readonly site: Site;
  close(): Promise<void>;
}

/** Dependencies of `createHosts`. */
export interface HostsParts<T extends OpenedSite> {
  /** Maximum number of open sites; the least recently used is closed first. */
  readonly openMax: number;
  open(name: string): Promise<T>;
  /** Returns a text that changes when the site must be opened again. */
  version(name: string): string;
  /** Called if a site with another version cannot be opened. The previous one then stays in use; default: the request fails. */
  readonly onStale?: (thrown: unknown) => void;
}

/** Sites that are opened when they are used, and closed after their last request. */
export interface Hosts<T> {
  /** Opens the site, unless its current version is open, for one request. */
  enter(name: string): Promise<Stay>;
  /** Names of the open sites and of those being opened, least recently used first. */
  names(): string[];
  /** Returns the open sites. */
  present(): readonly T[];
  close(): Promise<void>;
}

/** A request's use of a site, which stays open until `leave` is called. */
export interface Stay {
  readonly handle: RequestListener;
  leave(): void;
}

interface Hosted<T> {
  readonly opened: T;
  activeRequests: number;
  isEvicted: boolean;
}

/** A site that is open or being opened. */
interface Opening<T> {
  readonly version: string;
  readonly host: Promise<Hosted<T>>;
}

/** Creates the set of sites of a server. */
export function createHosts<T extends OpenedSite>(parts: HostsParts<T>): Hosts<T> {
  const { openMax, onStale } = parts;
  const hosted = new Map<string, Opening<T>>();
  const present = new Map<string, Hosted<T>>();
  const open = async (name: string): Promise<Hosted<T>> => {
    const opened = await parts.open(name);
    const host: Hosted<T> = { opened, activeRequests: 0, isEvicted: false };
    present.set(name, host);
    return host;
  };
  const { closeHost, retire, idle } = createRetirement<T>((name, host) => {
    if (present.get(name) === host) present.delete(name);
  });
  const evict = (name: string): void => {
    const evicted = hosted.get(name);
    hosted.delete(name);
    if (evicted !== undefined) retire(name, evicted, false);
  };
  const reopen = (name: string, before: Opening<T>): Promise<Hosted<T>> => {
    if (onStale === undefined) {
      retire(name, before, true);
      return open(name);
    }
    return open(name).then(
      (host) => {
        retire(name, before, true);
        return host;
      },
      (thrown: unknown) => {
        onStale(thrown);
        return before.host;
      },
    );
  };
  const openingOf = (name: string): Opening<T> => {
    const version = parts.version(name);
    const existing = hosted.get(name);
    if (existing?.version === version) return existing;
    if (existing !== undefined) return { version, host: reopen(name, existing) };
    if (hosted.size >= openMax) evict(hosted.keys().next().value as string);
    return { version, host: open(name) };
  };
  const enter = async (name: string): Promise<Stay> => {
    const opening = openingOf(name);
    // Re-insert at the end, so that the map is ordered from least to most recently used.
    hosted.delete(name);
    hosted.set(name, opening);
    try {
      const host = await opening.host;
      if (host.isEvicted && host.activeRequests === 0) return enter(name);
      host.activeRequests += 1;
      let isInside = true;
      const leave = (): void => {
        if (!isInside) return;
        isInside = false;
        host.activeRequests -= 1;
        if (host.isEvicted && host.activeRequests === 0) closeHost(host);
      };
      return { handle: host.opened.site.app.routing as RequestListener, leave };
    } catch (thrown) {
      if (hosted.get(name) === opening) hosted.delete(name);
      throw thrown;
    }
  };
  const close = async (): Promise<void> => {
    for (const name of [...hosted.keys()]) evict(name);
    await idle();
  };
  return {
    enter,
    names: () => [...hosted.keys()],
    present: () => [...present.values()].map(({ opened }) => opened),
    close,
  };
}

// Closes sites after their last request. `onRetired` is called when a site gets no more requests.
function createRetirement<T extends OpenedSite>(onRetired: (name: string, host: Hosted<T>) => void) {
  const closing = new Set<Promise<void>>();
  const closeHost = ({ opened }: Hosted<T>): void => {
    const work = opened.site.app
      .close()
      .then(() => opened.close())
      .finally(() => closing.delete(work));
    closing.add(work);
  };
  const retire = (name: string, { host: opening }: Opening<T>, isReplaced: boolean): void => {
    const work = opening.then(
      (host) => {
        onRetired(name, host);
        host.isEvicted = true;
        if (host.activeRequests === 0) closeHost(host);
        // Pages that listen for changes connect again, to the next site.
        else if (isReplaced) host.opened.site.pages?.close();
      },
      () => undefined,
    );
    const tracked = work.finally(() => closing.delete(tracked));
    closing.add(tracked);
  };
  const idle = async (): Promise<void> => {
    while (closing.size > 0) await Promise.allSettled(closing);
  };
  return { closeHost, retire, idle };
}

/**
 * Dispatches requests to the site that `choose` returns, or to the server's own routes if it returns null. The server's limits apply to all sites.
 */
export function dispatch(app: FastifyInstance, choose: (request: IncomingMessage) => Promise<Stay | null>): void {
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
