import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Service } from '../../query/service.ts';
import { type AccessControl, LOOPBACK } from '../auth/access-control.ts';
import { COMPRESSED_BYTES_MIN, compress } from '../http/content/compression.ts';
import { encodingOf, varyOf } from '../http/content/negotiation.ts';
import { STATUS_PATHS } from '../http/page-paths.ts';
import type { SnapshotHandlers } from '../http/snapshots.ts';
import { sendBytes } from './asset-handler.ts';
import { createFeed, type Feed, type FeedEvent, type Listener } from './feed.ts';
import { createReporter, type StatusParts } from './status-report.ts';

/** Maximum number of listening pages. */
const LISTENERS_MAX = 64;
/** Unread bytes above which a page is considered disconnected. */
const UNREAD_BYTES_MAX = 256 * 1024;

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Dependencies of the data of the operations page. */
export interface StatusPageParts {
  readonly status: StatusParts;
  readonly service: Service;
  readonly clock: Clock;
  /** Last use of each key by id, epoch milliseconds. */
  readonly usedAt: ReadonlyMap<string, number>;
}

/** The data of the operations page. */
export interface StatusPage {
  /** Returns the handler of each of its paths. */
  handlers(accessControl: AccessControl, snapshots: SnapshotHandlers): ReadonlyMap<string, Handler>;
  /** Ends the event streams of listening pages. */
  close(): void;
}

/** Creates the handlers of the status and of its changes. */
export function createStatusPage({ status, service, clock, usedAt }: StatusPageParts): StatusPage {
  const open: { feed: Feed | null } = { feed: null };
  const handlers: StatusPage['handlers'] = (accessControl, snapshots) => {
    const reporter = createReporter({ ...status, service, clock, usedAt, snapshotList: () => snapshots.read() });
    const feed = createFeed(reporter, clock, LISTENERS_MAX);
    open.feed = feed;
    const data: Handler = async (request, reply) => sendJson(request, reply, await reporter.read());
    return new Map<string, Handler>([
      [STATUS_PATHS.data, data],
      [STATUS_PATHS.events, createEventsHandler(feed, accessControl)],
    ]);
  };
  return { handlers, close: () => open.feed?.close() };
}

async function sendJson(request: FastifyRequest, reply: FastifyReply, value: unknown): Promise<FastifyReply> {
  const plain = Buffer.from(JSON.stringify(value));
  const encoding = plain.length < COMPRESSED_BYTES_MIN ? 'identity' : encodingOf(request.headers['accept-encoding']);
  reply.headers({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: varyOf(reply),
  });
  if (encoding === 'identity') return sendBytes(request, reply, plain);
  return sendBytes(request, reply.header('content-encoding', encoding), await compress(plain, encoding));
}

function createEventsHandler(feed: Feed, accessControl: AccessControl): Handler {
  return (request, reply) => {
    const { raw } = reply;
    const holder = request.visit.keyId ?? LOOPBACK;
    const added = feed.add(listenerOf(raw, holder, () => isAllowed(accessControl, request)));
    if (added === null) {
      const message = `too many pages are listening; allowed: ${LISTENERS_MAX}, and ${LISTENERS_MAX / 2} with one key`;
      throw new SightlineError('overloaded', message);
    }
    raw.once('close', added);
    // A page that closes its half of the connection has left.
    request.raw.socket.once('end', () => raw.end());
    reply.hijack();
    raw.writeHead(200, {
      ...request.visit.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    // Send something immediately, so that the page knows it is connected.
    raw.write(': hello\n\n');
    return reply;
  };
}

function listenerOf(response: ServerResponse, holder: string, isAllowed: () => boolean): Listener {
  return {
    holder,
    take: (event) => {
      if (response.destroyed) return false;
      if (response.writableLength > UNREAD_BYTES_MAX) {
        // end() keeps the unread buffer in memory, so destroy the response.
        response.destroy();
        return false;
      }
      response.write(toText(event));
      return true;
    },
    isAllowed,
    end: () => response.end(),
  };
}

// Checks the key again, as for a request; any error ends the stream.
function isAllowed(accessControl: AccessControl, request: FastifyRequest): boolean {
  try {
    accessControl.checkPage(request);
    return true;
  } catch {
    return false;
  }
}

function toText(event: FeedEvent | null): string {
  return event === null ? ': still here\n\n' : `event: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
}
