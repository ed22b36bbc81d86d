import { type Endpoint, type Handler, READ, type Route } from './paths.ts';

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
  '/opportunities',
  '/content',
  '/alerts',
  '/explain',
  '/compare',
  '/sql',
  '/reports',
  '/reports/',
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
  marks: `${DATA_PATH}/marks`,
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

/** Paths of the written reports: the page of a brand, and a chart of it. */
export const REPORTS_PATH = '/reports';
export const REPORT_FILE_PATHS = [`${REPORTS_PATH}/{file}`, `${REPORTS_PATH}/{folder}/{file}`] as const;

/** Returns a route of the data of pages. By default it needs the scope `metrics`. */
export function pageRoute(path: string, handler: Handler, more: Partial<Endpoint> = {}): Route {
  return { path, methods: READ, isOpen: false, isPage: true, scopes: ['metrics'], handler, ...more };
}

/** Returns whether a path belongs to a page: its document, files or data. */
export function isPagePath(path: string): boolean {
  return pageSegments.has(path.split('/')[1] ?? '');
}

const pageSegments: ReadonlySet<string> = new Set(
  [...APP_PATHS, APP_FILE_PATH, STATUS_PATH, DATA_PATH, REPORTS_PATH].map((path) => path.split('/')[1] ?? ''),
);
