import { dataOperations } from '../../query/metrics/data-operations.ts';
import type { Endpoint } from './paths.ts';

/** Paths of the data pages. All return the same document; the browser shows the page of the path. */
export const APP_PATHS = [
  '/',
  '/prompts',
  '/prompts/{id}',
  '/responses',
  '/responses/{id}',
  '/competitors',
  '/sources',
  '/topics',
  '/traffic',
  '/content',
  '/alerts',
  '/compare',
  '/sql',
  '/operations',
  '/sign-in',
  '/setup',
] as const;

/** Path of the files of the data pages. */
export const APP_FILE_PATH = '/assets/{file}';

/** Path of the operations page. Its data are below `STATUS_PATH`. */
export const OPERATIONS_PATH = '/operations';
export const STATUS_PATH = '/status';
export const STATUS_PATHS = {
  data: `${STATUS_PATH}/data`,
  events: `${STATUS_PATH}/events`,
} as const;

/** Paths of the data that the pages show, besides those of `dataOperations`. */
export const DATA_PATH = '/data';
export const DATA_PATHS = {
  queries: `${DATA_PATH}/queries`,
  query: `${DATA_PATH}/queries/{name}`,
  model: `${DATA_PATH}/metrics/model`,
  reports: `${DATA_PATH}/reports`,
} as const;

/** Paths of the setup of a workspace: its state, the test of the settings, the estimate and the start of the first sync. */
export const SETUP_PATHS = {
  state: `${DATA_PATH}/setup`,
  test: `${DATA_PATH}/setup/test`,
  estimate: `${DATA_PATH}/setup/estimate`,
  start: `${DATA_PATH}/setup/start`,
} as const;

/** Path of the list of workspaces, if one address serves several. */
export const FLEET_PATH = `${DATA_PATH}/fleet`;

/** Paths of the SQL page: queries, names for completion, questions with their SQL, and saved queries. */
export const SQL_PATHS = {
  run: `${DATA_PATH}/sql`,
  query: `${DATA_PATH}/sql/{id}`,
  schema: `${DATA_PATH}/sql/schema`,
  gallery: `${DATA_PATH}/sql/gallery`,
  saved: `${DATA_PATH}/sql/saved`,
  savedQuery: `${DATA_PATH}/sql/saved/{name}`,
} as const;

/** Paths of the written reports: the list, the page of a brand, and a chart of it. */
export const REPORTS_PATH = '/reports';
export const REPORT_LIST_PATHS = [REPORTS_PATH, `${REPORTS_PATH}/`] as const;
export const REPORT_FILE_PATHS = [`${REPORTS_PATH}/{file}`, `${REPORTS_PATH}/{folder}/{file}`] as const;

const READ = ['GET', 'HEAD'] as const;

/** Returns the endpoints that need no key: documents and files without data. */
export function openPageEndpoints(): Endpoint[] {
  return [...APP_PATHS, APP_FILE_PATH].map((path) => ({ path, methods: READ, isOpen: true, isPage: true }));
}

/** Returns the endpoints with the data of a workspace. */
export function closedPageEndpoints(): Endpoint[] {
  const { data, events } = STATUS_PATHS;
  const { reports, ...tables } = DATA_PATHS;
  // The status page and reports show all brands.
  const ofAllBrands = [data, reports, ...REPORT_LIST_PATHS, ...REPORT_FILE_PATHS].map((path) => {
    return { ...closed(path), forAllBrands: true } as const;
  });
  return [
    ...dataOperations.map(({ path }) => closed(path)),
    ...Object.values(tables).map(closed),
    ...ofAllBrands,
    { ...closed(events), forAllBrands: true, methods: ['GET'] },
  ];
}

/** Returns the endpoints of the setup, which is for the owner of the folder only. */
export function setupEndpoints(): Endpoint[] {
  const { state, ...changes } = SETUP_PATHS;
  const owner = (path: string, methods: readonly string[]): Endpoint => {
    return { path, methods, isOpen: false, isPage: true, forOwner: true };
  };
  return [owner(state, READ), ...Object.values(changes).map((path) => owner(path, ['POST']))];
}

/** Returns the endpoint of the list of workspaces. */
export function fleetEndpoint(): Endpoint {
  return closed(FLEET_PATH);
}

/** Returns the endpoints of the SQL page. Saved queries may name any brand, so they need a key for all. */
export function sqlEndpoints(): Endpoint[] {
  const { run, query, schema, gallery, saved, savedQuery } = SQL_PATHS;
  const sql = (path: string, methods: readonly string[]): Endpoint => ({ ...closed(path), methods, scopes: ['sql'] });
  return [
    sql(run, ['POST']),
    sql(schema, READ),
    sql(gallery, READ),
    { ...sql(saved, READ), forAllBrands: true },
    { ...sql(savedQuery, [...READ, 'PUT', 'PATCH', 'DELETE']), forAllBrands: true },
    sql(query, ['DELETE']),
  ];
}

/** Returns whether a path belongs to a page: its document, files or data. */
export function isPagePath(path: string): boolean {
  return pageSegments.has(path.split('/')[1] ?? '');
}

function closed(path: string): Endpoint {
  const isReport = path.startsWith(REPORTS_PATH);
  return { path, methods: READ, isOpen: false, isPage: true, scopes: [isReport ? 'snapshots' : 'metrics'] };
}

const pageSegments: ReadonlySet<string> = new Set(
  [...APP_PATHS, APP_FILE_PATH, STATUS_PATH, DATA_PATH, REPORTS_PATH].map((path) => path.split('/')[1] ?? ''),
);
