import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { removedSettings, removedValues } from '../removed-names.ts';
import { utf8Text } from '../utf8.ts';
import { budgetSchema } from './budget-settings.ts';
import { destinationsSchema } from './destination-settings.ts';
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

/** Most questions that the calibration asks after the first sync, and again after a contradiction; also the default. */
export const PROBES = 6;

/** Default number of requests per sync that re-read days. */
export const REREADS = 20;

/** Default number of snapshots to keep. */
export const KEEP = { daily: 14, weekly: 8, monthly: 24 } as const;

const share = z.number().gt(0).lte(1).describe('a number above 0, at most 1');
const connections = z.int().min(1).max(64);
/** Settings that can also be set in the environment. */
export const common = {
  keyHeader: z.enum(KEY_HEADERS).optional(),
  clock: z.enum(CLOCKS).optional(),
  budgetShare: share.optional(),
  connections: connections.optional(),
  compression: z.enum(COMPRESSIONS).optional(),
  parquet: z.enum(PARQUET_FORMS).optional(),
  marts: z.enum(PUBLISHED_MARTS).describe('none, star (dimensions and facts) or all').optional(),
  rawDays: z.int().min(0).max(3650).describe('a whole number of days from 0 to 3650; 0 keeps no pages').optional(),
  rawMegabytes: z
    .int()
    .min(0)
    .max(10_000_000)
    .describe('a whole number from 0 to 10000000; 0 keeps no pages')
    .optional(),
  rereadRequests: z
    .int()
    .min(0)
    .max(100_000)
    .describe('a whole number of requests per sync from 0 to 100000; 0 disables re-reads')
    .optional(),
};
/** A number of snapshots. */
export const snapshots = z.int().min(0).max(10_000).describe('a whole number of snapshots from 0 to 10000');
/** Number of daily, weekly and monthly snapshots to keep. */
export const keep = z.strictObject({
  daily: snapshots.optional(),
  weekly: snapshots.optional(),
  monthly: snapshots.optional(),
});
/** Questions that the calibration may ask. */
export const probes = z
  .int()
  .min(0)
  .max(PROBES)
  .describe(`a whole number of questions from 0 to ${PROBES}; 0 asks none`);
/** Patterns of names or paths of endpoints. */
const patterns = z
  .array(z.string().min(1).max(500))
  .max(1_000)
  .describe('a list of names or paths of endpoints; * stands for any characters');
const anything = z.record(z.string(), z.unknown());
const inFile = {
  ...common,
  budget: budgetSchema.optional(),
  keep: keep.optional(),
  resources: z
    .strictObject({
      include: patterns.optional(),
      exclude: patterns.optional(),
      requests: z
        .int()
        .min(0)
        .max(100_000)
        .describe('a whole number of requests per sync from 0 to 100000; 0 mirrors no undeclared endpoints')
        .optional(),
      endpoints: z.int().min(0).max(1_000).describe('a whole number of undeclared endpoints from 0 to 1000').optional(),
    })
    .optional(),
  domains: z
    .record(z.string().min(1).max(300), z.string().min(1).max(200))
    .describe('an object with a host and its owner: ours, forum, press, other, or the name of a competitor')
    .optional(),
  destinations: destinationsSchema.optional(),
  calibration: z.strictObject({ probes: probes.optional() }).optional(),
  conventions: anything.describe('an object with a member for each convention').optional(),
  jobs: anything.describe('an object with a member for each job').optional(),
  notify: notifySchema.optional(),
  publish: publishSchema.optional(),
  home: workspaceName.describe('the name of a destination').optional(),
};
const apiKeyVariable = variableName('the name of the environment variable with the key');
/** Root of the versioned API of a workspace. */
export const baseUrl = z.string().describe('the https URL of the versioned API, such as https://api.example.com/v1');
/** Folder with a folder per workspace. */
export const dataDir = z.string().min(1).describe('a folder');
/** Schema of `permissions`. */
export const permissions = z.enum(PERMISSIONS);
const fileSchema = z.strictObject({
  ...inFile,
  dataDir: dataDir.optional(),
  permissions: permissions.optional(),
  // All workspaces share one address of the read server.
  oauth: oauthSchema.optional(),
  // All workspaces share one queue.
  runner: runnerSchema.optional(),
  workspaces: z
    .record(
      workspaceName,
      z.strictObject({ ...inFile, baseUrl, apiKeyVariable }).describe('an object with the settings of the workspace'),
    )
    .describe('an object with a member for each workspace')
    .optional(),
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
