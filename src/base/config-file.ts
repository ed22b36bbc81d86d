import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { budgetAllowed, budgetSchema } from './budget-settings.ts';
import { SightlineError } from './errors.ts';
import { homeAllowed, homeSchema } from './home-settings.ts';
import { notifyAllowed, notifySchema } from './notify-settings.ts';
import { publishAllowed, publishSchema } from './publish-settings.ts';
import { runnerAllowed, runnerSchema } from './runner-settings.ts';

/** File with more settings than the environment can carry, in the folder where sightline is started. */
export const CONFIG_FILE = 'sightline.config.json';

/** Headers that can carry the key. */
export const KEY_HEADERS = ['authorization', 'x-api-key'] as const;
/** Whether upstream's clock is compared with this machine's (src/plausibility/run-clock.ts). */
export const CLOCKS = ['checked', 'upstream'] as const;
/** Of Parquet files. */
export const COMPRESSIONS = ['snappy', 'zstd'] as const;

/** Who may read the data folder besides its owner: nobody, or the group. */
export const PERMISSIONS = ['private', 'group'] as const;

/** Snapshots that stay where nothing else is said. */
export const KEEP = { daily: 14, weekly: 8, monthly: 24 } as const;

/** What a setting may be, in words. */
export const allowed = {
  keyHeader: KEY_HEADERS.join(' or '),
  clock: CLOCKS.join(' or '),
  budget: budgetAllowed,
  // Of a member whose name another setting has too, with the name of what it is a member of.
  'budget.kind': 'file or postgres',
  budgetShare: 'above 0, at most 1',
  connections: 'a whole number from 1 to 64',
  compression: COMPRESSIONS.join(' or '),
  rawDays: 'a whole number of days from 0 to 3650; with 0 no pages are kept',
  rawMegabytes: 'a whole number from 0 to 10000000; with 0 no pages are kept',
  keep: 'an object with the members daily, weekly and monthly',
  daily: 'a whole number of snapshots from 0 to 10000',
  weekly: 'a whole number of snapshots from 0 to 10000',
  monthly: 'a whole number of snapshots from 0 to 10000',
  conventions: 'an object with a member for each convention',
  jobs: 'an object with a member for each job',
  notify: `a list of objects with the members ${Object.keys(notifyAllowed).join(', ')}`,
  ...notifyAllowed,
  home: `an object with the members ${Object.keys(homeAllowed).join(', ')}`,
  'home.kind': homeAllowed.kind,
  publish: `an object with the members ${Object.keys(publishAllowed).join(', ')}`,
  ...publishAllowed,
  runner: runnerAllowed,
  'runner.kind': 'process, postgres or redis',
  'runner.sharedFolder': 'true if all workers use one data folder of one machine, otherwise false',
  dataDir: 'a folder',
  permissions: PERMISSIONS.join(' or '),
  workspaces: 'an object with a member for each workspace',
  workspace: 'lower-case letters, digits, - and _, at most 64',
  baseUrl: 'the https address of the versioned API, such as https://api.example.com/v1',
  apiKeyVariable: 'the name of the variable that holds the key',
} as const;

const share = z.number().gt(0).lte(1);
const connections = z.int().min(1).max(64);
/** Settings that the environment has too. */
export const common = {
  keyHeader: z.enum(KEY_HEADERS).optional(),
  clock: z.enum(CLOCKS).optional(),
  budgetShare: share.optional(),
  connections: connections.optional(),
  compression: z.enum(COMPRESSIONS).optional(),
  rawDays: z.int().min(0).max(3650).optional(),
  rawMegabytes: z.int().min(0).max(10_000_000).optional(),
};
/** A number of snapshots. */
export const snapshots = z.int().min(0).max(10_000);
/** How many snapshots stay. */
export const keep = z.strictObject({
  daily: snapshots.optional(),
  weekly: snapshots.optional(),
  monthly: snapshots.optional(),
});
const anything = z.record(z.string(), z.unknown());
const inFile = {
  ...common,
  budget: budgetSchema.optional(),
  keep: keep.optional(),
  conventions: anything.optional(),
  jobs: anything.optional(),
  notify: notifySchema.optional(),
  publish: publishSchema.optional(),
  home: homeSchema.optional(),
};
// A key in place of its variable's name is a mistake that suggests itself.
const apiKeyVariable = z.string().regex(/^(?!gsk_)[A-Za-z_]\w*$/);
/** What a workspace may be called. */
export const workspaceName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/);
const fileSchema = z.strictObject({
  ...inFile,
  dataDir: z.string().min(1).optional(),
  permissions: z.enum(PERMISSIONS).optional(),
  // One queue for all workspaces.
  runner: runnerSchema.optional(),
  workspaces: z.record(workspaceName, z.strictObject({ ...inFile, baseUrl: z.string(), apiKeyVariable })).optional(),
});

/** The file, checked. */
export type FileConfig = z.infer<typeof fileSchema>;

/** Reads the file of a folder; nothing is set where there is none. Throws `config_invalid` with the setting and what is allowed. */
export function readConfigFile(folder: string): FileConfig {
  const path = join(folder, CONFIG_FILE);
  const text = readText(path);
  if (text === undefined) return {};
  if (lastRead?.path === path && lastRead.text === text) return lastRead.config;
  const config = parseConfig(path, text);
  lastRead = { path, text, config };
  return config;
}

// Thousands of workspaces stand in one file, and each asks for it.
let lastRead: { readonly path: string; readonly text: string; readonly config: FileConfig } | null = null;

function parseConfig(path: string, text: string): FileConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (thrown) {
    throw new SightlineError('config_invalid', `${path} is not JSON: ${withoutExcerpt((thrown as Error).message)}`);
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new SightlineError(
    'config_invalid',
    `${path}: ${describeIssue(parsed.error.issues[0] as z.core.$ZodIssue, json)}`,
  );
}

// V8 quotes the text around the place, which may be an address or a secret that was put there by mistake.
function withoutExcerpt(message: string): string {
  return message.replace(/,? ?(\.{3})?".*"(\.{3})? is not valid JSON/s, '');
}

function describeIssue(issue: z.core.$ZodIssue, json: unknown): string {
  const where = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const fields = membersAt(issue.path);
    const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${where === '' ? 'it' : where} has an unknown setting ${names}; allowed: ${Object.keys(fields).join(', ')}`;
  }
  if (where === '') return `it is no JSON object; allowed: ${Object.keys(fileSchema.shape).join(', ')}`;
  const name = String(issue.path.findLast((step) => typeof step === 'string'));
  const value = issue.path.reduce<unknown>(
    (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
    json,
  );
  // What was put in place of a name may be the address or the secret itself.
  const mayBeSecret = [
    'notify',
    'budget',
    'runner',
    'urlVariable',
    'secretVariable',
    'publish',
    'home',
    'endpoint',
  ].includes(name);
  const shown = mayBeSecret ? 'something else' : JSON.stringify(value);
  const given = value === undefined ? 'is not set' : `is ${shown}`;
  if (issue.code === 'invalid_key')
    return `workspaces has the name ${JSON.stringify(name)}; allowed: ${allowed.workspace}`;
  const known = [where.split('.').slice(-2).join('.'), name].find((candidate) => Object.hasOwn(allowed, candidate));
  const may =
    known === undefined ? 'an object with the settings of the workspace' : allowed[known as keyof typeof allowed];
  return `${where} ${given}; allowed: ${may}`;
}

function membersAt(path: readonly PropertyKey[]): object {
  if (path.length === 0) return { ...inFile, ...fileSchema.shape };
  if (path.at(-1) === 'keep') return KEEP;
  if (path.at(-1) === 'publish' && path.at(-2) !== 'workspaces') return publishAllowed;
  if (path.at(-1) === 'home' && path.at(-2) !== 'workspaces') return homeAllowed;
  if (path.at(-1) === 'budget') return { kind: null, urlVariable: null };
  if (path.at(-1) === 'runner') return { kind: null, urlVariable: null, sharedFolder: null };
  return path.at(-2) === 'notify' ? notifyAllowed : { ...inFile, baseUrl: null, apiKeyVariable: null };
}

/** The text of a file without the byte order mark that some editors put before it, undefined where there is none. Throws `config_invalid`. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new SightlineError('config_invalid', `cannot read ${path} (${code})`, { cause: thrown });
  }
}

/** The error of a setting that is not what it may be, or with undefined not set. */
export function invalid(name: string, value: string | undefined, allowed: string): SightlineError {
  const given = value === undefined ? 'is not set' : `is ${JSON.stringify(value)}`;
  return new SightlineError('config_invalid', `${name} ${given}; allowed: ${allowed}`);
}
