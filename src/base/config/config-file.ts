import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { removedSettings, removedValues } from '../removed-names.ts';
import { utf8Text } from '../utf8.ts';
import { budgetSchema } from './budget-settings.ts';
import { destinationsSchema, HOME_KINDS } from './destination-settings.ts';
import { notifySchema } from './notify-settings.ts';
import { oauthSchema } from './oauth-settings.ts';
import { publishSchema } from './publish-settings.ts';
import { runnerSchema } from './runner-settings.ts';
import { allowedOf, describeIssue } from './setting-schema.ts';
import { variableName, workspaceName } from './shared-schemas.ts';

/** Configuration file, read from the folder in which sightline is started. */
export const CONFIG_FILE = 'sightline.config.json';

/** Request headers that can carry the API key. */
export const KEY_HEADERS = ['authorization', 'x-api-key'] as const;
/** Values of `clock`: compare upstream's clock with this machine's, or follow upstream's (src/contract/plausibility/run-clock.ts). */
export const CLOCKS = ['checked', 'upstream'] as const;
/** Compression of Parquet files. */
export const COMPRESSIONS = ['snappy', 'zstd'] as const;
/** Features of Parquet files: those of all current readers, or those of readers that misread dictionaries. */
export const PARQUET_FORMS = ['standard', 'compatible'] as const;
/** Marts that snapshots contain. */
export const PUBLISHED_MARTS = ['none', 'star', 'all'] as const;

/** Readers of the data folder besides its owner: nobody, or the group. */
export const PERMISSIONS = ['private', 'group'] as const;

/** Default and maximum number of requests that calibration sends after the first sync, and again after a contradiction. */
export const PROBES = 6;

/** A number of snapshots. */
const snapshots = z.int().min(0).max(10_000);
/** Settings of all workspaces or of one with a variable and a default. */
export const common = {
  keyHeader: z.enum(KEY_HEADERS).optional().meta({
    about: 'the request header that carries the key',
    variable: 'SIGHTLINE_KEY_HEADER',
    preset: 'authorization',
  }),
  clock: z.enum(CLOCKS).optional().meta({
    about: "checked: upstream's clock must agree with this machine's; upstream: upstream uses another date on purpose",
    variable: 'SIGHTLINE_CLOCK',
    preset: 'checked',
  }),
  budgetShare: z.number().gt(0).lte(1).describe('a number above 0, at most 1').optional().meta({
    about: "the share of the key's rate limit to use, if the key has other users",
    variable: 'SIGHTLINE_BUDGET_SHARE',
    preset: 1,
  }),
  connections: z
    .int()
    .min(1)
    .max(64)
    .optional()
    .meta({ about: 'requests in progress at a time', variable: 'SIGHTLINE_CONNECTIONS', preset: 8 }),
  rereadRequests: z.int().min(0).max(100_000).optional().meta({
    about: 'requests per sync, at most, that re-read old days to find edits that change no count; 0 disables them',
    variable: 'SIGHTLINE_REREAD_REQUESTS',
    preset: 20,
  }),
  rawDays: z.int().min(0).max(3650).optional().meta({
    about: "days to keep raw pages, by this machine's clock; 0 keeps none",
    variable: 'SIGHTLINE_RAW_DAYS',
    preset: 30,
  }),
  rawMegabytes: z.int().min(0).max(10_000_000).optional().meta({
    about: 'the maximum size of raw pages in MB; the oldest are deleted first; 0 keeps none',
    variable: 'SIGHTLINE_RAW_MB',
    preset: 2000,
  }),
  compression: z
    .enum(COMPRESSIONS)
    .optional()
    .meta({ about: 'the compression of Parquet files', variable: 'SIGHTLINE_COMPRESSION', preset: 'snappy' }),
  parquet: z.enum(PARQUET_FORMS).optional().meta({
    about:
      'the form of Parquet files; compatible: without dictionaries, 1.9 times as large, for readers such as parquetjs-lite',
    variable: 'SIGHTLINE_PARQUET',
    preset: 'standard',
  }),
  marts: z
    .enum(PUBLISHED_MARTS)
    .describe('none, star (dimensions and facts) or all')
    .optional()
    .meta({ about: 'the marts in snapshots, buckets and destinations', variable: 'SIGHTLINE_MARTS', preset: 'star' }),
};
/** Snapshots to keep. */
export const keep = {
  daily: snapshots.optional().meta({
    about: 'snapshots to keep: the newest of each of this many days (UTC)',
    variable: 'SIGHTLINE_KEEP_DAILY',
    preset: 14,
  }),
  weekly: snapshots.optional().meta({
    about: 'snapshots to keep: the newest of each of this many ISO weeks',
    variable: 'SIGHTLINE_KEEP_WEEKLY',
    preset: 8,
  }),
  monthly: snapshots.optional().meta({
    about: 'snapshots to keep: the newest of each of this many months',
    variable: 'SIGHTLINE_KEEP_MONTHLY',
    preset: 24,
  }),
};
/** Requests that calibration may send. */
export const calibration = {
  probes: z.int().min(0).max(PROBES).optional().meta({
    about: 'requests that calibration may send after the first sync, and again after a contradiction; 0 sends none',
    variable: 'SIGHTLINE_CALIBRATION_PROBES',
    preset: PROBES,
  }),
};
/** Patterns of names or paths of endpoints. */
const patterns = z
  .array(z.string().min(1).max(500))
  .max(1_000)
  .describe('a list of names or paths of endpoints; * stands for any characters');
/** Endpoints to mirror, and limits for those that no declaration describes. */
export const resources = {
  include: patterns.optional().meta({ about: 'endpoints without a declaration that are mirrored', whenUnset: 'all' }),
  exclude: patterns
    .optional()
    .meta({ about: 'endpoints that are not read, with or without a declaration', whenUnset: 'none' }),
  requests: z
    .int()
    .min(0)
    .max(100_000)
    .optional()
    .meta({ about: 'requests per sync, at most, for endpoints without a declaration; 0 mirrors none', preset: 500 }),
  // A hundred take 20 seconds of CPU in the first sync.
  endpoints: z.int().min(0).max(1_000).optional().meta({
    about: "endpoints without a declaration that are mirrored, at most: the first ones of upstream's OpenAPI document",
    preset: 100,
  }),
};
const anything = z.record(z.string(), z.unknown());
const inFile = {
  ...common,
  keep: z.strictObject(keep).optional(),
  publish: publishSchema
    .optional()
    .meta({ about: 'where snapshots are published', whenUnset: 'the folder of the workspace' }),
  destinations: destinationsSchema.optional().meta({ about: 'databases that `sightline load` fills, by name' }),
  home: workspaceName
    .describe(`the name of a destination, ${HOME_KINDS}`)
    .optional()
    .meta({ about: 'the destination that keeps the warehouse between runs' }),
  resources: z.strictObject(resources).optional(),
  calibration: z.strictObject(calibration).optional(),
  conventions: anything
    .describe('an object with the value of each point, as `sightline calibration --point NAME` shows it')
    .optional()
    .meta({ about: 'how upstream computes numbers and orders rows: replaces values that calibration has inferred' }),
  domains: z
    .record(z.string().min(1).max(300), z.string().min(1).max(200))
    .describe('an object with a host and its owner: ours, forum, press, other, or the name of a competitor')
    .optional()
    .meta({ about: 'the owners of cited sites' }),
  budget: budgetSchema
    .optional()
    .meta({ about: 'the storage of the request budget of a key', whenUnset: 'files of dataDir' }),
  jobs: anything
    .describe('an object with the members to set of each job, such as { "nightly": { "cron": "0 3 * * *" } }')
    .optional()
    .meta({ about: 'jobs to change or add, by name; `sightline jobs` lists all' }),
  notify: notifySchema.optional().meta({ about: 'a list of receivers of notifications: webhooks and mailboxes' }),
};
const apiKeyVariable = variableName('the name of the environment variable with the key of the workspace').meta({
  about: 'the variable with this name and `_FILE` may have the path of a file with the key instead',
});
/** Root of the versioned API of a workspace. */
export const baseUrl = z.string().describe('the https URL of the versioned API, such as https://api.example.com/v1');
/** Folder with a folder per workspace. */
export const dataDir = z
  .string()
  .min(1)
  .describe('a folder')
  .optional()
  .meta({ about: 'the folder with one folder per workspace', variable: 'SIGHTLINE_DATA_DIR', preset: './data' });
/** Schema of `permissions`. */
export const permissions = z.enum(PERMISSIONS).optional().meta({
  about: 'readers of the data folder: its owner, or also its group',
  variable: 'SIGHTLINE_PERMISSIONS',
  preset: 'private',
});
/** Schema of the configuration file. */
export const fileSchema = z.strictObject({
  ...inFile,
  dataDir,
  permissions,
  // All workspaces share one address of the read server.
  oauth: oauthSchema.optional().meta({ about: 'the authorization server whose access tokens `serve` accepts' }),
  // All workspaces share one queue.
  runner: runnerSchema.optional().meta({ about: 'the queue of jobs', whenUnset: 'the process that schedules them' }),
  workspaces: z
    .record(
      workspaceName,
      z.strictObject({ ...inFile, baseUrl, apiKeyVariable }).describe('an object with the settings of the workspace'),
    )
    .describe('an object with a member for each workspace')
    .optional()
    .meta({
      about:
        'the workspaces by name; each may have its own value of every setting above, except dataDir, permissions, oauth and runner',
    }),
});

/** Content of the configuration file, validated. */
export type FileConfig = z.infer<typeof fileSchema>;

/** Sources of settings. Precedence: flags, then environment, then file, then defaults. */
export interface ConfigSources {
  readonly flags: {
    readonly workspace?: string;
    readonly dataDir?: string;
    readonly baseUrl?: string;
    readonly home?: string;
  };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** Configuration file of `folder` if it was already read; saves parsing a large file once per workspace. */
  readonly file?: FileConfig;
  /** Accepts a workspace that is neither configured nor has a folder, because the caller creates it. Default: false. */
  readonly isNew?: boolean;
}

/**
 * Reads and validates the configuration file of `folder`; returns an empty object if the file does not exist.
 * @throws `config_invalid` with the setting and its allowed values
 */
export function readConfigFile(folder: string): FileConfig {
  const path = join(folder, CONFIG_FILE);
  const text = readText(path);
  if (text === undefined) return {};
  return parseConfig(path, text);
}

function parseConfig(path: string, text: string): FileConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (thrown) {
    throw new SightlineError('config_invalid', `${path} is not JSON: ${withoutExcerpt((thrown as Error).message)}`);
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  checkRemoved(path, issues, json);
  const [first] = issues as [z.core.$ZodIssue];
  const problem =
    first.code === 'invalid_key'
      ? `workspaces has the name ${JSON.stringify(first.path.at(-1))}; allowed: ${allowedOf(workspaceName)}`
      : describeIssue(fileSchema, first, json);
  throw new SightlineError('config_invalid', `${path}: ${problem}`);
}

// Throws an error that names what replaces a setting or a value if the file has a removed one.
function checkRemoved(path: string, issues: readonly z.core.$ZodIssue[], json: unknown): void {
  for (const issue of issues) {
    const name = issue.path.slice(-2).join('.');
    const value = issue.path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown> | null)?.[step], json);
    const gone = removedValues.find((one) => one.name === name && one.value === value);
    if (gone !== undefined) {
      const what = `${issue.path.join('.')} has the value "${gone.value}", which was removed`;
      throw new SightlineError('config_invalid', `${path}: ${what}`, { hint: gone.instead });
    }
    // Settings of the file or of a workspace.
    if (issue.code !== 'unrecognized_keys' || (issue.path.length !== 0 && issue.path[0] !== 'workspaces')) continue;
    const removed = removedSettings.find(({ name }) => issue.keys.includes(name));
    if (removed === undefined) continue;
    const setting = [...issue.path, removed.name].join('.');
    throw new SightlineError('config_invalid', `${path}: the setting ${setting} was removed`, {
      hint: removed.instead,
    });
  }
}

// V8 quotes the text around a syntax error, which may be a URL or a secret pasted there by mistake.
function withoutExcerpt(message: string): string {
  return message.replace(/,? ?(\.{3})?".*"(\.{3})? is not valid JSON/s, '');
}

/**
 * Returns the text of a file without a byte order mark, or undefined if the file does not exist.
 * @throws `config_invalid` if the file cannot be read or is not text in UTF-8
 */
export function readText(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new SightlineError('config_invalid', `cannot read ${path} (${code})`, { cause: thrown });
  }
  const text = utf8Text(bytes);
  if (text !== null) return text;
  throw new SightlineError('config_invalid', `${path} is not UTF-8 text but UTF-16 or binary; allowed: UTF-8`);
}

/** Makes the `config_invalid` error of a setting whose value is not allowed; undefined means that it is not set. */
export function invalid(name: string, value: string | undefined, allowed: string): SightlineError {
  const given = value === undefined ? 'is not set' : `is ${JSON.stringify(value)}`;
  return new SightlineError('config_invalid', `${name} ${given}; allowed: ${allowed}`);
}
