import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readProxies } from '../proxies.ts';
import { type BudgetSettings, readBudgetSettings } from './budget-settings.ts';
import {
  baseUrl,
  type CLOCKS,
  type COMPRESSIONS,
  type ConfigSources,
  common,
  dataDir,
  type FileConfig,
  invalid,
  KEEP,
  type KEY_HEADERS,
  type keep,
  type PARQUET_FORMS,
  type PERMISSIONS,
  permissions,
  PROBES,
  type PUBLISHED_MARTS,
  probes,
  REREADS,
  readConfigFile,
  snapshots,
} from './config-file.ts';
import { type DestinationTarget, readDestination } from './destination-settings.ts';
import { nonEmpty } from './environment.ts';
import { checkKey, readSecret } from './key-file.ts';
import { isPrivateWay, type NotifyTarget, PRIVATE_WAY, readNotify } from './notify-settings.ts';
import { type OAuthSettings, readOAuth } from './oauth-settings.ts';
import { type PublishTarget, readPublish } from './publish-settings.ts';
import { type RunnerSettings, readRunnerSettings } from './runner-settings.ts';
import { allowedOf } from './setting-schema.ts';
import { checkWorkspaceName, findWorkspace, standardWorkspace } from './workspace-names.ts';

/** Requests per sync for undeclared endpoints. */
const GENERIC_REQUESTS = 500;
/** Undeclared endpoints that are mirrored. A hundred take 20 seconds of CPU in the first sync. */
const ENDPOINTS = 100;

/** Validated settings of one workspace. */
export interface WorkspaceConfig {
  readonly name: string;
  /** Absolute path of the folder with the warehouse, replica, snapshots and raw pages. */
  readonly folder: string;
  /** Share of the key's rate limit that sightline may use, in (0, 1]. */
  readonly budgetShare: number;
  /**
   * Storage of the key's request budget.
   * @throws `config_invalid` if the URL of its database is missing or invalid
   */
  budget(): BudgetSettings;
  /** Readers of the data folder besides its owner. */
  readonly permissions: (typeof PERMISSIONS)[number];
  /** Slices that are read concurrently. */
  readonly connections: number;
  /** `checked` fails a sync if upstream's clock is far from this machine's; `upstream` follows upstream's clock. */
  readonly clock: (typeof CLOCKS)[number];
  readonly compression: (typeof COMPRESSIONS)[number];
  /** Whether Parquet files have dictionaries, which `compatible` omits for readers that misread them. */
  readonly parquet: (typeof PARQUET_FORMS)[number];
  /** Marts that snapshots contain. */
  readonly marts: (typeof PUBLISHED_MARTS)[number];
  /** Retention of raw pages: maximum age in days and total size in MB. If either is 0, no raw pages are kept. */
  readonly raw: { readonly days: number; readonly megabytes: number };
  /** Snapshots to keep: the newest of each of the newest days, ISO weeks and months that have one. */
  readonly keep: { readonly daily: number; readonly weekly: number; readonly monthly: number };
  /** Destination to which snapshots are published in addition to the folder. */
  readonly publish: PublishTarget;
  /** Names of the destinations. */
  readonly destinations: readonly string[];
  /**
   * Returns the connection of a destination.
   * @throws `config_invalid` if a member of its settings or the variable with its URL is missing or invalid
   */
  destination(name: string): DestinationTarget;
  /** Folder in which DuckDB finds the extensions of destinations; if it is not given, missing ones are downloaded into it. */
  readonly extensions: { readonly path: string; readonly isGiven: boolean };
  /** Name of the destination that keeps the warehouse between runs; null if the folder keeps it. */
  readonly home: string | null;
  /** Endpoints to mirror, and a limit for those that no declaration describes. */
  readonly resources: ResourceSelection;
  /** Owners of hosts: ours, forum, press, other, or the name of a competitor. */
  readonly domains: Readonly<Record<string, string>>;
  /** Most questions of the calibration after the first sync, and again after a contradiction; 0 for none. */
  readonly probes: number;
  /** Requests per sync that re-read the least recently read days; 0 for none. */
  readonly rereads: number;
  /** Overrides of the calibration, not validated here; src/metrics validates them. */
  readonly conventions: Readonly<Record<string, unknown>>;
  /** Overrides of jobs by job name, not validated here; src/jobs validates them. */
  readonly jobs: Readonly<Record<string, unknown>>;
  /**
   * Base URL and key of upstream.
   * @throws `config_invalid` if either is missing or invalid
   */
  upstream(): UpstreamConfig;
  /**
   * Receivers of notifications about failures, drift and stale data.
   * @throws `config_invalid` if the URL or secret of a receiver is missing or invalid
   */
  notify(): readonly NotifyTarget[];
}

/** Endpoints to mirror. Patterns are names of resources or paths below the base URL; `*` stands for any characters. */
export interface ResourceSelection {
  /** Undeclared endpoints that are mirrored; default: all. */
  readonly include?: readonly string[] | undefined;
  /** Endpoints that are not read, declared or not. */
  readonly exclude?: readonly string[] | undefined;
  /** Maximum requests per sync for undeclared endpoints. */
  readonly requests: number;
  /** Maximum number of undeclared endpoints. The first endpoints of the document are mirrored. */
  readonly endpoints: number;
}

/** Base URL and key of a workspace's upstream. */
export interface UpstreamConfig {
  /** Root of the versioned API, without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: (typeof KEY_HEADERS)[number];
  /** The proxy through which requests are sent; null for none. */
  readonly proxy: URL | null;
}

/**
 * Reads and validates the settings of one workspace. The workspace is selected by its name or the beginning of its name.
 * @throws `config_invalid` with the setting's name and its allowed values, and `usage` for a workspace that is neither configured
 * nor has a folder
 * @example
 * const environment = readEnvironment(folder);
 * const config = loadConfig({ flags: { workspace: 'acme' }, environment, folder });
 */
export function loadConfig({ flags, environment, folder, file: read, isNew }: ConfigSources): WorkspaceConfig {
  const file = read ?? readConfigFile(folder);
  const workspacesFolder = dataFolderOf({ flags, environment, folder, file });
  const wanted = flags.workspace ?? nonEmpty(environment['SIGHTLINE_WORKSPACE']);
  if (wanted !== undefined && isNew === true) checkWorkspaceName(wanted);
  const name =
    wanted === undefined
      ? standardWorkspace(environment, file)
      : isNew === true
        ? wanted
        : findWorkspace(wanted, file, workspacesFolder, flags.workspace !== undefined);
  const declared = file.workspaces?.[name];
  const setting = <K extends keyof typeof common>(key: K, variable: string, read: (text: string) => unknown) => {
    const text = nonEmpty(environment[variable]);
    if (text === undefined) return declared?.[key] ?? file[key];
    const parsed = common[key].safeParse(read(text));
    if (!parsed.success) throw invalid(variable, text, allowedOf(common[key]));
    return parsed.data as FileConfig[K];
  };
  const allowHttp = environment['SIGHTLINE_ALLOW_HTTP'] === '1';
  const findProxy = readProxies(environment);
  const givenExtensions = nonEmpty(environment['SIGHTLINE_EXTENSION_DIRECTORY']);
  const destinations = declared?.destinations ?? file.destinations ?? {};
  return {
    name,
    folder: checkFolder(join(workspacesFolder, name)),
    budgetShare: setting('budgetShare', 'SIGHTLINE_BUDGET_SHARE', Number) ?? 1,
    budget: () => readBudgetSettings(declared?.budget ?? file.budget, environment, folder),
    permissions: readPermissions(environment, file),
    connections: setting('connections', 'SIGHTLINE_CONNECTIONS', Number) ?? 8,
    clock: setting('clock', 'SIGHTLINE_CLOCK', lowerCase) ?? 'checked',
    compression: setting('compression', 'SIGHTLINE_COMPRESSION', lowerCase) ?? 'snappy',
    parquet: setting('parquet', 'SIGHTLINE_PARQUET', lowerCase) ?? 'standard',
    marts: setting('marts', 'SIGHTLINE_MARTS', lowerCase) ?? 'star',
    raw: {
      days: setting('rawDays', 'SIGHTLINE_RAW_DAYS', toWholeNumber) ?? 30,
      megabytes: setting('rawMegabytes', 'SIGHTLINE_RAW_MB', toWholeNumber) ?? 2000,
    },
    keep: readKeep(environment, declared?.keep ?? {}, file.keep ?? {}),
    publish: readPublish(declared?.publish ?? file.publish ?? { kind: 'folder' }, { allowHttp, findProxy }),
    destinations: Object.keys(destinations),
    destination: (wanted) => {
      const given = destinations[wanted];
      if (given === undefined) throw new TypeError(`no destination ${wanted}`);
      return readDestination(wanted, given, { environment, folder, allowHttp });
    },
    extensions: {
      path: givenExtensions ?? join(homedir(), '.duckdb', 'extensions'),
      isGiven: givenExtensions !== undefined,
    },
    home: readHome(flags.home, declared?.home ?? file.home, destinations),
    resources: readSelection(file.resources, declared?.resources),
    domains: { ...file.domains, ...declared?.domains },
    rereads: setting('rereadRequests', 'SIGHTLINE_REREAD_REQUESTS', toWholeNumber) ?? REREADS,
    probes: readProbes(environment, declared?.calibration?.probes ?? file.calibration?.probes),
    conventions: { ...file.conventions, ...declared?.conventions },
    jobs: { ...file.jobs, ...declared?.jobs },
    notify: () => readNotify(declared?.notify ?? file.notify ?? [], environment, folder, { allowHttp, findProxy }),
    upstream: () => {
      const variable = declared?.apiKeyVariable ?? 'SIGHTLINE_API_KEY';
      const urlName = declared === undefined ? 'SIGHTLINE_BASE_URL' : `workspaces.${name}.baseUrl`;
      const given = flags.baseUrl ?? declared?.baseUrl ?? nonEmpty(environment['SIGHTLINE_BASE_URL']);
      const url = checkBaseUrl(flags.baseUrl === undefined ? urlName : '--base-url', given, allowHttp);
      return {
        baseUrl: url,
        proxy: findProxy(new URL(url)),
        key: checkKey(variable, readSecret(variable, environment, folder)),
        keyHeader: setting('keyHeader', 'SIGHTLINE_KEY_HEADER', lowerCase) ?? 'authorization',
      };
    },
  };
}

/**
 * Returns the absolute path of the data folder, which has a folder per workspace.
 * @throws `config_invalid`
 */
export function dataFolderOf({ flags, environment, folder, file }: ConfigSources): string {
  if (flags.dataDir === '') throw invalid('--data-dir', '', allowedOf(dataDir));
  const configured = flags.dataDir ?? nonEmpty(environment['SIGHTLINE_DATA_DIR']);
  return resolve(folder, configured ?? (file ?? readConfigFile(folder)).dataDir ?? 'data');
}

/**
 * Umask for everything that is written to data folders.
 * @throws `config_invalid`
 */
export function dataUmask({ environment, folder }: Omit<ConfigSources, 'flags'>): number {
  return readPermissions(environment, readConfigFile(folder)) === 'group' ? 0o027 : 0o077;
}

/**
 * Reads the settings of the runner of jobs.
 * @throws `config_invalid` if the file cannot be read or the URL of the queue is not set
 */
export function loadRunnerSettings({ environment, folder }: Omit<ConfigSources, 'flags'>): RunnerSettings {
  return readRunnerSettings(readConfigFile(folder).runner, environment, folder);
}

/**
 * Reads the settings of the authorization server whose access tokens the read server accepts; null if there is none.
 * @throws `config_invalid`
 */
export function loadOAuthSettings({ environment, folder }: Omit<ConfigSources, 'flags'>): OAuthSettings | null {
  const variables = { issuer: 'SIGHTLINE_OAUTH_ISSUER', resource: 'SIGHTLINE_OAUTH_RESOURCE' };
  return readOAuth(readConfigFile(folder).oauth, environment, variables);
}

function readPermissions(environment: ConfigSources['environment'], file: FileConfig): WorkspaceConfig['permissions'] {
  const text = nonEmpty(environment['SIGHTLINE_PERMISSIONS']);
  if (text === undefined) return file.permissions ?? 'private';
  const parsed = permissions.safeParse(text);
  if (!parsed.success) throw invalid('SIGHTLINE_PERMISSIONS', text, allowedOf(permissions));
  return parsed.data;
}

function readKeep(
  environment: ConfigSources['environment'],
  declared: z.infer<typeof keep>,
  common: z.infer<typeof keep>,
): WorkspaceConfig['keep'] {
  const read = (variable: string, period: keyof typeof KEEP): number => {
    const text = nonEmpty(environment[variable]);
    if (text === undefined) return declared[period] ?? common[period] ?? KEEP[period];
    const parsed = snapshots.safeParse(toWholeNumber(text));
    if (!parsed.success) throw invalid(variable, text, allowedOf(snapshots));
    return parsed.data;
  };
  return {
    daily: read('SIGHTLINE_KEEP_DAILY', 'daily'),
    weekly: read('SIGHTLINE_KEEP_WEEKLY', 'weekly'),
    monthly: read('SIGHTLINE_KEEP_MONTHLY', 'monthly'),
  };
}

function readSelection(ofAll: FileConfig['resources'], own: FileConfig['resources']): ResourceSelection {
  const requests = own?.requests ?? ofAll?.requests ?? GENERIC_REQUESTS;
  const endpoints = own?.endpoints ?? ofAll?.endpoints ?? ENDPOINTS;
  return { include: own?.include ?? ofAll?.include, exclude: own?.exclude ?? ofAll?.exclude, requests, endpoints };
}

function readProbes(environment: ConfigSources['environment'], configured: number = PROBES): number {
  const text = nonEmpty(environment['SIGHTLINE_CALIBRATION_PROBES']);
  if (text === undefined) return configured;
  const parsed = probes.safeParse(toWholeNumber(text));
  if (!parsed.success) throw invalid('SIGHTLINE_CALIBRATION_PROBES', text, allowedOf(probes));
  return parsed.data;
}

// DuckDB parses the text after a question mark as parameters and writes its WAL to another path.
function checkFolder(folder: string): string {
  if (!folder.includes('?')) return folder;
  const message = `the data folder ${JSON.stringify(folder)} contains "?", which DuckDB does not support in paths; allowed: a folder without "?", set with SIGHTLINE_DATA_DIR or --data-dir`;
  throw new SightlineError('config_invalid', message);
}

function checkBaseUrl(name: string, value: string | undefined, allowHttp: boolean): string {
  if (value === undefined) throw invalid(name, undefined, `${allowedOf(baseUrl)}; \`sightline init\` asks for it`);
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    // The text before an @ may contain a password.
    throw invalid(name, value.replace(/^.*@/s, '…@'), allowedOf(baseUrl));
  }
  if (url.username !== '' || url.password !== '') {
    throw new SightlineError(
      'config_invalid',
      `${name} contains a user name or password; allowed: a URL without them, with the key in its own variable`,
    );
  }
  if (!isPrivateWay(url, allowHttp)) {
    throw invalid(name, value, `${allowedOf(baseUrl)}; ${PRIVATE_WAY}`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalid(name, value, `${allowedOf(baseUrl)}, without a query or fragment`);
  }
  return url.href.replace(/\/+$/, '');
}

// `Number()` is too lenient: `Number(' ') === 0`.
function toWholeNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}

// Iceberg is left out: a transaction of it has no two tables.
function readHome(
  flag: string | undefined,
  setting: string | undefined,
  destinations: NonNullable<FileConfig['destinations']>,
): string | null {
  const home = flag ?? setting;
  if (home === undefined) return null;
  const names = Object.keys(destinations).filter((name) => destinations[name]?.kind !== 'iceberg');
  if (names.includes(home)) return home;
  const allowed = names.length === 0 ? 'a name of destinations, not of kind iceberg' : names.join(', ');
  throw invalid(flag === undefined ? 'home' : '--home', home, allowed);
}
