import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FirstRun } from '../../operations/first-run.ts';
import type { SqlCaller } from '../../operations/sql/sql-service.ts';
import type { Service } from '../../query/service.ts';
import type { AccessControl } from '../auth/access-control.ts';
import type { Access } from '../auth/access.ts';
import { createDataHandlers, sendValue, type Tables } from '../data/data-handlers.ts';
import type { Fleet } from '../data/fleet.ts';
import { createSqlHandlers, type SqlParts } from '../data/sql-handlers.ts';
import {
  APP_FILE_PATH,
  APP_PATHS,
  closedPageEndpoints,
  DATA_PATHS,
  FLEET_PATH,
  fleetEndpoint,
  openPageEndpoints,
  REPORT_FILE_PATHS,
  REPORT_LIST_PATHS,
  setupEndpoints,
  sqlEndpoints,
} from '../http/page-paths.ts';
import type { Endpoint } from '../http/paths.ts';
import type { Answers } from '../http/responses.ts';
import type { SnapshotHandlers } from '../http/snapshots.ts';
import { createAppHandlers } from './app-files.ts';
import { createReportHandlers } from './report-files.ts';
import { createSetupHandlers } from './setup-handlers.ts';
import { createStatusPage, type StatusPageParts } from './status-page.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Content security policy of the pages: only this server's files. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every response of a page, its files and its data. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
};

/** Dependencies of the pages. */
export interface PageParts extends StatusPageParts {
  readonly answers: Answers;
  readonly tables?: Tables;
  /** The setup through the pages; without it there is none. */
  readonly setup?: FirstRun;
  /** Guarded SQL and saved queries; default: no SQL page. */
  readonly sql?: Omit<SqlParts, 'callerOf'>;
  /** Folder of the built data pages; default: the pages of this package. */
  readonly app?: URL;
}

/** The pages of a workspace: data pages, status page and reports, and their data. */
export interface Pages {
  readonly endpoints: readonly Endpoint[];
  /** Returns the handler of each endpoint. */
  handlers(accessControl: AccessControl, snapshots: SnapshotHandlers): ReadonlyMap<string, Handler>;
  /** Ends the event streams of listening pages. */
  close(): void;
}

/** Creates the pages of a workspace. */
export function createPages(parts: PageParts): Pages {
  const statusPage = createStatusPage(parts);
  const reports = createReportHandlers(join(parts.status.folder, 'reports'));
  const { sql, setup } = parts;
  return {
    endpoints: [
      ...openPageEndpoints(),
      ...closedPageEndpoints(),
      ...(setup === undefined ? [] : setupEndpoints()),
      ...(sql === undefined ? [] : sqlEndpoints()),
    ],
    handlers: (accessControl, snapshots) =>
      new Map<string, Handler>([
        ...appHandlers(APP_PATHS, parts.app),
        ...statusPage.handlers(accessControl, snapshots),
        ...createDataHandlers(parts),
        ...(setup === undefined ? [] : createSetupHandlers(setup)),
        ...(sql === undefined
          ? []
          : createSqlHandlers({ ...sql, callerOf: (request) => callerOf(request, parts.service) })),
        ...REPORT_LIST_PATHS.map((path): [string, Handler] => [path, reports.list]),
        ...REPORT_FILE_PATHS.map((path): [string, Handler] => [path, reports.file]),
        [DATA_PATHS.reports, async (request, reply) => sendValue(request, reply, { reports: await reports.read() })],
      ]),
    close: () => statusPage.close(),
  };
}

/** Creates the pages of the address that several workspaces share: the document at all paths, and no data. */
export function createFrontPages({ app }: Pick<PageParts, 'app'>): Pages {
  return {
    endpoints: openPageEndpoints(),
    handlers: () => appHandlers(APP_PATHS, app),
    close: () => undefined,
  };
}

/** Adds the list of workspaces to pages. */
export function withFleet(pages: Pages, fleet: Fleet): Pages {
  const list: Handler = async (request, reply) => {
    const { workspaces, brands } = request.visit.access as Access;
    return sendValue(request, reply, { workspaces: await fleet.read({ workspaces, brands }) });
  };
  return {
    endpoints: [...pages.endpoints, fleetEndpoint()],
    handlers: (accessControl, snapshots) => new Map([...pages.handlers(accessControl, snapshots), [FLEET_PATH, list]]),
    close: pages.close,
  };
}

function appHandlers(paths: readonly string[], folder: URL | undefined): Map<string, Handler> {
  const app = createAppHandlers(folder);
  return new Map([...paths.map((path): [string, Handler] => [path, app.document]), [APP_FILE_PATH, app.file]]);
}

// Resolves names of brands to ids. A request without rights sees no brand.
async function callerOf({ visit: { access } }: FastifyRequest, service: Service): Promise<SqlCaller> {
  const session = access?.session ?? access?.key?.id ?? access?.id ?? 'loopback';
  if (access?.brands === null) return { session, brands: null };
  const { allowedBrands } = await service.limitedTo(access?.brands ?? []).newest();
  return { session, brands: [...(allowedBrands ?? [])] };
}
