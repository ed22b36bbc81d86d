import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import type { FirstRun } from '../../operations/first-run.ts';
import type { SqlCaller } from '../../operations/sql/sql-service.ts';
import type { Service } from '../../read/service.ts';
import type { Access } from '../auth/access.ts';
import { createDataRoutes } from '../data/data-handlers.ts';
import type { Fleet } from '../data/fleet.ts';
import { createMarkRoutes } from '../data/mark-handlers.ts';
import { createSqlRoutes, type SqlParts } from '../data/sql-handlers.ts';
import { sendValue } from '../http/content/send.ts';
import { FLEET_PATH, pageRoute } from '../http/page-paths.ts';
import type { Route } from '../http/paths.ts';
import type { Answers } from '../http/responses.ts';
import { createReportRoutes, type WriteReport } from './report-files.ts';
import { createSetupRoutes } from './setup-handlers.ts';
import { createStatusPage, type StatusPage, type StatusPageParts } from './status-page.ts';

/** Content security policy of the pages: only this server's files. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // Charts are drawn as pictures before they are saved.
  "img-src 'self' blob:",
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
  /** The setup through the pages; without it there is none. */
  readonly setup?: FirstRun;
  /** Default: reports are written by commands and jobs only. */
  readonly writeReport?: WriteReport;
  /** Guarded SQL and saved queries; default: no SQL page. */
  readonly sql?: Omit<SqlParts, 'callerOf'>;
}

/** The pages of a workspace: data pages, status page and reports, and their data. */
export type Pages = StatusPage;

/** Creates the data of the pages of a workspace. */
export function createPages({ sql, setup, writeReport, ...parts }: PageParts): Pages {
  const statusPage = createStatusPage(parts);
  const callerOf = (request: FastifyRequest): Promise<SqlCaller> => sqlCallerOf(request, parts.service);
  return {
    routes: [
      ...createDataRoutes(parts),
      ...createMarkRoutes({ ...parts, folder: parts.status.folder }),
      ...statusPage.routes,
      ...createReportRoutes(join(parts.status.folder, 'reports'), parts.service, writeReport),
      ...(setup === undefined ? [] : createSetupRoutes(setup)),
      ...(sql === undefined ? [] : createSqlRoutes({ ...sql, callerOf })),
    ],
    close: statusPage.close,
  };
}

/** Creates the route of the list of workspaces. */
export function createFleetRoute(fleet: Fleet): Route {
  return pageRoute(FLEET_PATH, async (request, reply) => {
    const { workspaces, brands } = request.visit.access as Access;
    return sendValue(request, reply, { workspaces: await fleet.read({ workspaces, brands }) });
  });
}

// Resolves names of brands to ids. A request without rights sees no brand.
async function sqlCallerOf({ visit: { access } }: FastifyRequest, service: Service): Promise<SqlCaller> {
  const session = access?.session ?? access?.key?.id ?? access?.id ?? 'loopback';
  if (access?.brands === null) return { session, brands: null };
  const { allowedBrands } = await service.limitedTo(access?.brands ?? []).newest();
  return { session, brands: [...(allowedBrands ?? [])] };
}
