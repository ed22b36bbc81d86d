import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { readProxies } from '../proxies.ts';
import { type BudgetSettings, readBudgetSettings } from './budget-settings.ts';
import {
  baseUrl,
  calibration,
  type ConfigSources,
  common,
  dataDir,
  type FileConfig,
  invalid,
  keep,
  permissions,
  readConfigFile,
  resources,
} from './config-file.ts';
import { type DestinationTarget, HOME_KINDS, NO_HOMES, readDestination } from './destination-settings.ts';
import { nonEmpty } from './environment.ts';
import { checkKey, readSecret } from './key-file.ts';
import { isPrivateWay, type NotifyTarget, PRIVATE_WAY, readNotify } from './notify-settings.ts';
import { type OAuthSettings, readOAuth } from './oauth-settings.ts';
import { type PublishTarget, readPublish } from './publish-settings.ts';
import { type RunnerSettings, readRunnerSettings } from './runner-settings.ts';
import { allowedOf, describeIssue, isWrapper, noteOf } from './setting-schema.ts';
import { checkWorkspaceName, findWorkspace, standardWorkspace } from './workspace-names.ts';

type SettingGroup = Readonly<Record<string, z.ZodType>>;
/** The values of settings in the file. */
type GivenOf<Group extends SettingGroup> = { readonly [Key in keyof Group]?: z.infer<Group[Key]> };
/** The values of settings with a default. */
type SettingsOf<Group extends SettingGroup> = { readonly [Key in keyof Group]: NonNullable<z.infer<Group[Key]>> };
type CommonSettings = SettingsOf<typeof common>;

/** Validated settings of one workspace. */
export interface WorkspaceConfig extends CommonSettings {
  readonly name: string;
  /** Absolute path of the folder with the warehouse, replica, snapshots and raw pages. */
  readonly folder: string;
  /**
   * Storage of the key's request budget.
   * @throws `config_invalid` if the URL of its database is missing or invalid
   */
  budget(): BudgetSettings;
  /** Readers of the data folder besides its owner. */
  readonly permissions: NonNullable<FileConfig['permissions']>;
  /** Snapshots to keep: the newest of each of the newest days, ISO weeks and months that have one. */
  readonly keep: SettingsOf<typeof keep>;
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
export type ResourceSelection = Pick<FileResources, 'include' | 'exclude'> &
  SettingsOf<Pick<typeof resources, 'requests' | 'endpoints'>>;
type FileResources = NonNullable<FileConfig['resources']>;

/** Base URL and key of a workspace's upstream. */
export interface UpstreamConfig {
  /** Root of the versioned API, without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: CommonSettings['keyHeader'];
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
export function loadConfig({ flags, environment, folder, file: known, isNew }: ConfigSources): WorkspaceConfig {
  const file = known ?? readConfigFile(folder);
  const workspacesFolder = dataFolderOf({ flags, environment, folder, file });
  const wanted = flags.workspace ?? nonEmpty(environment['SIGHTLINE_WORKSPACE']);
  const isTyped = flags.workspace !== undefined;
  if (wanted !== undefined && isNew === true) checkWorkspaceName(wanted, isTyped);
  const name =
    wanted === undefined
      ? standardWorkspace(environment, file)
      : isNew === true
        ? wanted
        : findWorkspace(wanted, file, workspacesFolder, isTyped);
  const declared = file.workspaces?.[name];
  const read = <Group extends SettingGroup>(group: Group, own: GivenOf<Group> = {}, ofAll: GivenOf<Group> = {}) =>
    readGroup(group, environment, own, ofAll);
  const settings = read(common, declared, file);
  const allowHttp = environment['SIGHTLINE_ALLOW_HTTP'] === '1';
  const findProxy = readProxies(environment);
  const givenExtensions = nonEmpty(environment['SIGHTLINE_EXTENSION_DIRECTORY']);
  const destinations = declared?.destinations ?? file.destinations ?? {};
  return {
    ...settings,
    name,
    folder: checkFolder(join(workspacesFolder, name)),
    budget: () => readBudgetSettings(declared?.budget ?? file.budget, environment, folder),
    permissions: readSetting(permissions, environment, file.permissions),
    keep: read(keep, declared?.keep, file.keep),
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
    resources: read(resources, declared?.resources, file.resources),
    domains: { ...file.domains, ...declared?.domains },
    probes: read(calibration, declared?.calibration, file.calibration).probes,
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
        keyHeader: settings.keyHeader,
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
  const set = flags.dataDir ?? readSetting(dataDir, environment, (file ?? readConfigFile(folder)).dataDir);
  return resolve(folder, set);
}

/** Umask for everything that is written to data folders. Private if the settings cannot be read: the command reports the error. */
export function dataUmask({ environment, folder }: Omit<ConfigSources, 'flags'>): number {
  try {
    return readSetting(permissions, environment, readConfigFile(folder).permissions) === 'group' ? 0o027 : 0o077;
  } catch {
    return 0o077;
  }
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
  return readOAuth(readConfigFile(folder).oauth, environment);
}

function readGroup<Group extends SettingGroup>(
  group: Group,
  environment: ConfigSources['environment'],
  own: GivenOf<Group>,
  ofAll: GivenOf<Group>,
): SettingsOf<Group> {
  const read = Object.entries(group).map(([key, schema]) => [
    key,
    readSetting(schema, environment, own[key] ?? ofAll[key]),
  ]);
  return Object.fromEntries(read) as SettingsOf<Group>;
}

// Returns the value of a setting's variable, its value in the file, or its default.
function readSetting<Value>(
  schema: z.ZodType<Value>,
  environment: ConfigSources['environment'],
  given: Value,
): NonNullable<Value> {
  const { variable, preset } = noteOf(schema);
  const text = variable === undefined ? undefined : nonEmpty(environment[variable]);
  if (variable === undefined || text === undefined) return (given ?? preset) as NonNullable<Value>;
  const parsed = schema.safeParse(fromText(schema, text));
  if (parsed.success) return parsed.data as NonNullable<Value>;
  const [issue] = parsed.error.issues as [z.core.$ZodIssue];
  throw new SightlineError('config_invalid', describeIssue(schema, issue, text, variable));
}

// `Number()` is too lenient: `Number(' ') === 0`.
function fromText(schema: z.ZodType, text: string): unknown {
  if (isWrapper(schema)) return fromText(schema.unwrap() as z.ZodType, text);
  if (schema instanceof z.ZodNumber) return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return schema instanceof z.ZodEnum ? text.toLowerCase() : text;
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

function readHome(
  flag: string | undefined,
  setting: string | undefined,
  destinations: NonNullable<FileConfig['destinations']>,
): string | null {
  const home = flag ?? setting;
  if (home === undefined) return null;
  const names = Object.keys(destinations).filter((name) => !NO_HOMES.some((kind) => kind === destinations[name]?.kind));
  if (names.includes(home)) return home;
  const allowed = names.length === 0 ? `a name of destinations, ${HOME_KINDS}` : names.join(', ');
  throw invalid(flag === undefined ? 'home' : '--home', home, allowed);
}
