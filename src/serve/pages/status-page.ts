import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import { type AccessControl, LOOPBACK } from '../auth/access-control.ts';
import { contentTypeOf } from '../http/content/negotiation.ts';
import { sendEncoded } from '../http/content/send.ts';
import { pageRoute, STATUS_PATHS } from '../http/page-paths.ts';
import type { Handler, Route } from '../http/paths.ts';
import { createFeed, type Feed, type FeedEvent, type Listener } from './feed.ts';
import { createReporter, type ReporterParts, type StatusParts } from './status-report.ts';

/** Maximum number of listening pages. */
const LISTENERS_MAX = 64;
/** Unread bytes above which a page is considered disconnected. */
const UNREAD_BYTES_MAX = 256 * 1024;

/** Dependencies of the data of the operations page. */
export interface StatusPageParts extends Omit<ReporterParts, keyof StatusParts> {
  readonly status: StatusParts;
  readonly accessControl: AccessControl;
}

/** The data of the operations page. They are about all brands. */
export interface StatusPage {
  readonly routes: readonly Route[];
  /** Ends the event streams of listening pages. */
  close(): void;
}

/** Creates the routes of the status and of its changes. */
export function createStatusPage({ status, accessControl, ...parts }: StatusPageParts): StatusPage {
  const reporter = createReporter({ ...status, ...parts });
  const feed = createFeed(reporter, parts.clock, LISTENERS_MAX);
  const data: Handler = async (request, reply) => {
    const plain = Buffer.from(JSON.stringify(await reporter.read()));
    const body = { mediaType: contentTypeOf('json'), cacheControl: 'no-store', length: plain.length };
    return sendEncoded(request, reply, { ...body, read: () => plain });
  };
  const events = createEventsHandler(feed, accessControl);
  return {
    routes: [
      pageRoute(STATUS_PATHS.data, data, { forAllBrands: true }),
      pageRoute(STATUS_PATHS.events, events, { forAllBrands: true, methods: ['GET'] }),
    ],
    close: feed.close,
  };
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
