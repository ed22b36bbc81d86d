import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { z } from 'zod';
import { type BudgetSettings, readBudgetSettings } from './budget-settings.ts';
import {
  allowed,
  type CLOCKS,
  type COMPRESSIONS,
  CONFIG_FILE,
  common,
  type FileConfig,
  invalid,
  KEEP,
  type KEY_HEADERS,
  type keep,
  PERMISSIONS,
  readConfigFile,
  readText,
  snapshots,
  workspaceName,
} from './config-file.ts';
import { SightlineError } from './errors.ts';
import { type HomeSettings, readHome } from './home-settings.ts';
import { readSecret, withoutFile, withSecrets } from './key-file.ts';
import { isPrivateWay, type NotifyTarget, readNotify } from './notify-settings.ts';
import { type PublishTarget, readPublish } from './publish-settings.ts';
import { type RunnerSettings, readRunnerSettings } from './runner-settings.ts';

/** The workspace that the environment describes. */
export const DEFAULT_WORKSPACE = 'default';

/** The workspace that the demo makes. */
export const DEMO_WORKSPACE = 'demo';

/** Variables that choose a workspace and its folder. */
const CHOOSING: readonly string[] = ['SIGHTLINE_WORKSPACE', 'SIGHTLINE_DATA_DIR'];

/** One workspace's settings, checked. */
export interface WorkspaceConfig {
  readonly name: string;
  /** Folder that holds the warehouse and all that is made of it. */
  readonly folder: string;
  /** Part of the key's rate limit that may be used, in (0, 1]. */
  readonly budgetShare: number;
  /** Where the budget of the key is kept; throws `config_invalid` where the address of its database is not set. */
  budget(): BudgetSettings;
  /** Who may read the data folder besides its owner. */
  readonly permissions: (typeof PERMISSIONS)[number];
  /** Chains of pages read side by side. */
  readonly connections: number;
  /** Whether a sync ends if upstream's clock is far from this machine's (`checked`), or follows upstream's. */
  readonly clock: (typeof CLOCKS)[number];
  readonly compression: (typeof COMPRESSIONS)[number];
  /** How long pages are kept as they came, in days, and how much of them, in MB; with 0 of either none are. */
  readonly raw: { readonly days: number; readonly megabytes: number };
  /** Snapshots that stay: of the newest days, ISO weeks and months that have one, the newest of each. */
  readonly keep: { readonly daily: number; readonly weekly: number; readonly monthly: number };
  /** Where snapshots are published besides the folder. */
  readonly publish: PublishTarget;
  /** Where the warehouse is at home; the folder holds it while it is worked on in any case. */
  readonly home: HomeSettings;
  /** What the file decides about the API's numbers, as it stands there; src/metrics knows what it may be. */
  readonly conventions: Readonly<Record<string, unknown>>;
  /** What the file changes about jobs, by name, as it stands there; src/scheduler knows what it may be. */
  readonly jobs: Readonly<Record<string, unknown>>;
  /** How to reach upstream; throws `config_invalid` when that is not set. */
  upstream(): UpstreamConfig;
  /** Who is told of failures, drift and stale data; throws `config_invalid` where an address or a secret is not set. */
  notify(): readonly NotifyTarget[];
}

/** How to reach a workspace's upstream. */
export interface UpstreamConfig {
  /** Root of the versioned API, without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: (typeof KEY_HEADERS)[number];
}

/** Where settings come from; flags beat the environment, which beats the file, which beats defaults. */
export interface ConfigSources {
  readonly flags: { readonly workspace?: string; readonly dataDir?: string; readonly baseUrl?: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** What stands in the folder's file, where it was read already: thousands of workspaces may stand in one. */
  readonly file?: FileConfig;
}

/** The process's environment over what `.env` says; the one place where it is read. */
export function readEnvironment(folder: string): Record<string, string | undefined> {
  return { ...parseEnv(readText(join(folder, '.env')) ?? ''), ...process.env };
}

/**
 * The variables of OpenTelemetry, which are those of the process, and what `.env` says besides; its packages read them
 * from the process, where they are put.
 */
export function readTraceSettings(folder: string): Record<string, string | undefined> {
  let inFile: ReturnType<typeof parseEnv> = {};
  try {
    inFile = parseEnv(readText(join(folder, '.env')) ?? '');
  } catch {
    // Whoever needs the file says what is wrong with it.
  }
  for (const [name, value] of Object.entries(inFile)) {
    if (name.startsWith('OTEL_') && value !== undefined) process.env[name] ??= value;
  }
  return process.env;
}

/**
 * Has the object store's client keep to itself that its versions to come will want a newer Node, which is for whoever updates
 * it and not for a log; what is set already stays.
 */
export function quietStoreClient(): void {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
}

/** Reads and checks the settings of one workspace. Throws `config_invalid` with the setting's name and what is allowed. */
export function loadConfig({ flags, environment, folder, file: read }: ConfigSources): WorkspaceConfig {
  const file = read ?? readConfigFile(folder);
  const name = chooseWorkspace(flags.workspace, environment, file);
  const declared = file.workspaces?.[name];
  const setting = <K extends keyof typeof common>(key: K, variable: string, read: (text: string) => unknown) => {
    const text = nonEmpty(environment[variable]);
    if (text === undefined) return declared?.[key] ?? file[key];
    const parsed = common[key].safeParse(read(text));
    if (!parsed.success) throw invalid(variable, text, allowed[key]);
    return parsed.data as FileConfig[K];
  };
  const allowHttp = environment['SIGHTLINE_ALLOW_HTTP'] === '1';
  if (flags.dataDir === '') throw invalid('--data-dir', '', allowed.dataDir);
  const dataDir = flags.dataDir ?? nonEmpty(environment['SIGHTLINE_DATA_DIR']) ?? file.dataDir ?? 'data';
  return {
    name,
    folder: checkFolder(join(resolve(folder, dataDir), name)),
    budgetShare: setting('budgetShare', 'SIGHTLINE_BUDGET_SHARE', Number) ?? 1,
    budget: () => readBudgetSettings(declared?.budget ?? file.budget, environment, folder),
    permissions: readPermissions(environment, file),
    connections: setting('connections', 'SIGHTLINE_CONNECTIONS', Number) ?? 8,
    clock: setting('clock', 'SIGHTLINE_CLOCK', lowerCase) ?? 'checked',
    compression: setting('compression', 'SIGHTLINE_COMPRESSION', lowerCase) ?? 'snappy',
    raw: {
      days: setting('rawDays', 'SIGHTLINE_RAW_DAYS', toWholeNumber) ?? 30,
      megabytes: setting('rawMegabytes', 'SIGHTLINE_RAW_MB', toWholeNumber) ?? 2000,
    },
    keep: readKeep(environment, declared?.keep ?? {}, file.keep ?? {}),
    publish: readPublish(declared?.publish ?? file.publish ?? { kind: 'folder' }, { allowHttp, folder }),
    home: readHome(declared?.home ?? file.home ?? { kind: 'local' }, allowHttp),
    conventions: { ...file.conventions, ...declared?.conventions },
    jobs: { ...file.jobs, ...declared?.jobs },
    notify: () => readNotify(declared?.notify ?? file.notify ?? [], environment, folder, allowHttp),
    upstream: () => {
      const variable = declared?.apiKeyVariable ?? 'SIGHTLINE_API_KEY';
      const urlName = declared === undefined ? 'SIGHTLINE_BASE_URL' : `workspaces.${name}.baseUrl`;
      const baseUrl = flags.baseUrl ?? declared?.baseUrl ?? nonEmpty(environment['SIGHTLINE_BASE_URL']);
      return {
        baseUrl: checkBaseUrl(flags.baseUrl === undefined ? urlName : '--base-url', baseUrl, allowHttp),
        key: checkKey(variable, readSecret(variable, environment, folder)),
        keyHeader: setting('keyHeader', 'SIGHTLINE_KEY_HEADER', lowerCase) ?? 'authorization',
      };
    },
  };
}

/**
 * Names of all workspaces that are configured: those of the file, and the one that the environment describes. Throws
 * `config_invalid` for a file that cannot be read.
 */
export function listWorkspaces({ environment, folder }: Omit<ConfigSources, 'flags'>): string[] {
  const names = Object.keys(readConfigFile(folder).workspaces ?? {});
  const isDescribed = nonEmpty(environment['SIGHTLINE_BASE_URL']) !== undefined;
  const others = names.filter((name) => name !== DEFAULT_WORKSPACE);
  return names.length === 0 || isDescribed || others.length < names.length ? [DEFAULT_WORKSPACE, ...others] : names;
}

/** The workspaces that the file declares, by name. Throws `config_invalid` for a file that cannot be read. */
export function declaredWorkspaces(
  folder: string,
): Readonly<Record<string, { readonly baseUrl: string; readonly apiKeyVariable: string }>> {
  return readConfigFile(folder).workspaces ?? {};
}

/** The umask for all that is written to data folders. Throws `config_invalid`. */
export function dataUmask({ environment, folder }: Omit<ConfigSources, 'flags'>): number {
  return readPermissions(environment, readConfigFile(folder)) === 'group' ? 0o027 : 0o077;
}

/** Who runs jobs when they are due. Throws `config_invalid` for a file that cannot be read, or an address that is not set. */
export function loadRunnerSettings({ environment, folder }: Omit<ConfigSources, 'flags'>): RunnerSettings {
  return readRunnerSettings(readConfigFile(folder).runner, environment, folder);
}

/** Throws `config_invalid` for what cannot be the name of a workspace. */
export function checkWorkspaceName(name: string): void {
  if (!workspaceName.safeParse(name).success) throw invalid('--workspace', name, allowed.workspace);
}

/**
 * The settings that an environment and a folder hold, as text by name: our own variables, those that the file names for keys,
 * webhooks, budgets and the queue, with secrets in place of the files that hold them, and the text of the file itself. Without
 * those that choose the workspace, which two processes on one workspace may write differently.
 */
export function ownSettings({ environment, folder }: Omit<ConfigSources, 'flags'>): Record<string, string> {
  const file = readConfigFile(folder);
  const workspaces = Object.values(file.workspaces ?? {});
  const targets = [file, ...workspaces].flatMap(({ notify = [] }) => notify);
  const keys = workspaces.map(({ apiKeyVariable: name }) => name);
  const ofTargets = targets.flatMap(({ urlVariable, secretVariable }) =>
    secretVariable === undefined ? [urlVariable] : [urlVariable, secretVariable],
  );
  const ofBudgets = [file, ...workspaces].flatMap(({ budget }) =>
    budget?.kind === 'postgres' ? [budget.urlVariable] : [],
  );
  const ofRunner = file.runner === undefined || file.runner.kind === 'process' ? [] : [file.runner.urlVariable];
  const named = [...keys, ...ofTargets, ...ofBudgets, ...ofRunner];
  const isOurs = (name: string): boolean => name.startsWith('SIGHTLINE_') || named.includes(withoutFile(name));
  const ours = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && value.trim() !== '' && isOurs(name) && !CHOOSING.includes(name)
      ? [[name, value.trim()] as const]
      : [],
  );
  const text = readText(join(folder, CONFIG_FILE));
  return {
    ...withSecrets(Object.fromEntries(ours), ['SIGHTLINE_API_KEY', ...named], folder),
    ...(text === undefined ? {} : { [CONFIG_FILE]: text }),
  };
}

function chooseWorkspace(
  flag: string | undefined,
  environment: ConfigSources['environment'],
  file: FileConfig,
): string {
  const { workspaces = {} } = file;
  const wanted = flag ?? nonEmpty(environment['SIGHTLINE_WORKSPACE']);
  if (wanted !== undefined) checkWorkspaceName(wanted);
  if (wanted !== undefined && Object.hasOwn(workspaces, wanted)) return wanted;
  const known = Object.keys(workspaces);
  if (wanted === undefined) {
    if (known.length === 0 || nonEmpty(environment['SIGHTLINE_BASE_URL']) !== undefined) return DEFAULT_WORKSPACE;
    if (known.length === 1) return known[0] as string;
    throw invalid('--workspace', undefined, `one of ${known.join(', ')}`);
  }
  const others = [DEFAULT_WORKSPACE, DEMO_WORKSPACE];
  if (known.length === 0 || others.includes(wanted)) return wanted;
  throw invalid('--workspace', wanted, `one of ${[...known, ...others].join(', ')}`);
}

function readPermissions(environment: ConfigSources['environment'], file: FileConfig): WorkspaceConfig['permissions'] {
  const text = nonEmpty(environment['SIGHTLINE_PERMISSIONS']);
  if (text === undefined) return file.permissions ?? 'private';
  const known = PERMISSIONS.find((candidate) => candidate === text);
  if (known === undefined) throw invalid('SIGHTLINE_PERMISSIONS', text, allowed.permissions);
  return known;
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
    if (!parsed.success) throw invalid(variable, text, allowed[period]);
    return parsed.data;
  };
  return {
    daily: read('SIGHTLINE_KEEP_DAILY', 'daily'),
    weekly: read('SIGHTLINE_KEEP_WEEKLY', 'weekly'),
    monthly: read('SIGHTLINE_KEEP_MONTHLY', 'monthly'),
  };
}

// DuckDB takes what follows a question mark for parameters and puts its log elsewhere.
function checkFolder(folder: string): string {
  if (!folder.includes('?')) return folder;
  const message = `the data folder ${JSON.stringify(folder)} contains "?", which no path of a DuckDB file may have; allowed: a folder without it, set with SIGHTLINE_DATA_DIR or --data-dir`;
  throw new SightlineError('config_invalid', message);
}

function checkBaseUrl(name: string, value: string | undefined, allowHttp: boolean): string {
  if (value === undefined) throw invalid(name, undefined, `${allowed.baseUrl}; \`sightline init\` asks for it`);
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    // What stands before an @ may be a password.
    throw invalid(name, value.replace(/^.*@/s, '…@'), allowed.baseUrl);
  }
  if (url.username !== '' || url.password !== '') {
    throw new SightlineError('config_invalid', `${name} holds a user name or password; the key goes into its variable`);
  }
  if (!isPrivateWay(url, allowHttp)) {
    throw invalid(name, value, `${allowed.baseUrl}; http only on loopback, or with SIGHTLINE_ALLOW_HTTP=1`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalid(name, value, `${allowed.baseUrl}, without a query or fragment`);
  }
  return url.href.replace(/\/+$/, '');
}

// A wrong key is not shown: it may be a right one for something else.
function checkKey(name: string, value: string | undefined): string {
  const key = 'an API key of the workspace; it begins with gsk_';
  if (value === undefined || value.trim() === '') throw invalid(name, undefined, key);
  if (!/^gsk_[\x21-\x7e]+$/.test(value.trim())) {
    throw new SightlineError('config_invalid', `${name} is not an API key; allowed: ${key}, without spaces`);
  }
  return value.trim();
}

// Number() takes much for a number, a blank for 0 among it.
function toWholeNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
