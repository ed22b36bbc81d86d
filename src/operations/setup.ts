import { existsSync, realpathSync, statSync } from 'node:fs';
import { chown, open, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { parseEnv } from 'node:util';
import { CONFIG_FILE, readText } from '../base/config/config-file.ts';
import { DEFAULT_WORKSPACE, declaredWorkspaces } from '../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { publishByRename } from '../base/files.ts';

/** Name of the file with environment variables, in the current directory. */
export const ENV_FILE = '.env';

/** Variables of the default workspace, which needs no configuration file. */
const URL_VARIABLE = 'SIGHTLINE_BASE_URL';
const KEY_VARIABLE = 'SIGHTLINE_API_KEY';

/** Location of a workspace's settings. */
export interface Place {
  readonly workspace: string;
  /** Whether the base URL is stored in the configuration file; otherwise it is stored in `.env`. */
  readonly isInFile: boolean;
  /** Name of the API key's variable, which is always stored in `.env`. */
  readonly keyVariable: string;
  /** The base URL that is configured already. */
  readonly baseUrl: string | undefined;
}

/** Settings to write. */
export interface Settings {
  readonly baseUrl: string;
  /** The API key; null if it is stored in a separate file. */
  readonly key: string | null;
  /** Data folder to configure; null to leave it unchanged. */
  readonly dataDir: string | null;
  /** Data folder that results from all settings, as an absolute path. */
  readonly dataFolder: string;
  readonly budgetShare: number | null;
  /** Whether a configured data folder may be changed. It applies to all workspaces. */
  readonly force: boolean;
}

/** Locates the settings of a workspace, existing or new. Throws `config_invalid` for an unreadable file. */
export function locationOf(
  folder: string,
  workspace: string,
  environment: Readonly<Record<string, string | undefined>>,
): Place {
  const declared = declaredWorkspaces(folder);
  const found = Object.hasOwn(declared, workspace) ? declared[workspace] : undefined;
  if (found !== undefined) {
    return { workspace, isInFile: true, keyVariable: found.apiKeyVariable, baseUrl: found.baseUrl };
  }
  if (workspace === DEFAULT_WORKSPACE) {
    return { workspace, isInFile: false, keyVariable: KEY_VARIABLE, baseUrl: environment[URL_VARIABLE] };
  }
  const taken = Object.values(declared).map(({ apiKeyVariable }) => apiKeyVariable);
  return { workspace, isInFile: true, keyVariable: newVariable(workspace, taken), baseUrl: undefined };
}

// acme: ACME_KEY. A variable's name cannot begin with a digit, and acme-x and acme_x would share one.
function newVariable(workspace: string, taken: readonly string[]): string {
  const name = workspace.toUpperCase().replaceAll('-', '_');
  const first = `${/^\d/.test(name) ? 'WORKSPACE_' : ''}${name}_KEY`;
  let variable = first;
  for (let number = 2; taken.includes(variable); number += 1) variable = `${first}_${number}`;
  return variable;
}

/** The API key that `.env` sets in a variable, or undefined. */
export function keyInFile(folder: string, variable: string): string | undefined {
  const value = parseEnv(readText(join(folder, ENV_FILE)) ?? '')[variable]?.trim();
  return value === '' ? undefined : value;
}

/**
 * Writes the settings, each file by rename, and keeps unrelated lines and members. Writes `.gitignore` first and the key last, so
 * the key is never in a file that git tracks. Returns the names of the changed files.
 *
 * @throws `config_invalid` if an edit would change other settings of a file, `usage` if it would move the data folder without
 * `force` (both before anything is written), and `folder_unwritable`, after which later files are not written.
 */
export async function writeSettings(folder: string, place: Place, settings: Settings): Promise<string[]> {
  const { baseUrl, key } = settings;
  const variables = {
    ...(place.isInFile ? {} : { [URL_VARIABLE]: baseUrl }),
    ...(key === null ? {} : { [place.keyVariable]: key }),
  };
  const files: [name: string, text: string | null, mode: number | null][] = [
    ['.gitignore', ignored(folder, settings.dataFolder), null],
    [CONFIG_FILE, configured(folder, place, settings), null],
    [ENV_FILE, withVariables(readText(join(folder, ENV_FILE)) ?? '', variables), 0o600],
  ];
  const written: string[] = [];
  for (const [name, text, mode] of files) {
    if (text !== null && (await writeAside(join(folder, name), text, mode))) written.push(name);
  }
  return written;
}

/** Sets variables in the text of an `.env` file and keeps every other line. Throws `config_invalid`. */
export function withVariables(text: string, variables: Readonly<Record<string, string>>): string {
  const left = new Map(Object.entries(variables));
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const end = lines[0]?.endsWith('\r') === true ? '\r' : '';
  const kept = lines.flatMap((line) => {
    const name = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/.exec(line)?.[1];
    if (name === undefined || !Object.hasOwn(variables, name)) return [line];
    const value = left.get(name);
    left.delete(name);
    return value === undefined ? [] : [`${name}=${quoted(value)}${line.endsWith('\r') ? '\r' : ''}`];
  });
  // Give a last line without a line end the same line end as the others.
  const complete = end !== '' && !text.endsWith('\n') ? kept.with(-1, `${kept.at(-1)?.replace(/\r$/, '')}\r`) : kept;
  const added = [...left].map(([name, value]) => `${name}=${quoted(value)}${end}`);
  const result = [...complete, ...added, ''].join('\n');
  const before = parseEnv(text);
  const after = parseEnv(result);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const isRight = [...names].every((name) => after[name] === (variables[name] ?? before[name]));
  if (isRight) return result;
  throw new SightlineError(
    'config_invalid',
    `${ENV_FILE} cannot be edited without changing its other variables; set ${Object.keys(variables).join(' and ')} by hand`,
  );
}

function quoted(value: string): string {
  if (/^[\w.:/~+=@%,-]*$/.test(value)) return value;
  const mark = ["'", '"', '`'].find((candidate) => !value.includes(candidate)) ?? "'";
  return `${mark}${value}${mark}`;
}

function configured(folder: string, place: Place, { baseUrl, dataDir, budgetShare, force }: Settings): string | null {
  const text = readText(join(folder, CONFIG_FILE));
  // The file was parsed and validated before.
  const config = JSON.parse(text ?? '{}') as Record<string, unknown> & { workspaces?: Record<string, object> };
  const { dataDir: there } = config;
  if (dataDir !== null && there !== undefined && there !== dataDir && !force) {
    const what = `${CONFIG_FILE} keeps the data of all workspaces in ${JSON.stringify(there)}`;
    throw new SightlineError('usage', `${what}; nothing was written. --force changes it without moving the data`);
  }
  const share = budgetShare === null ? {} : { budgetShare };
  const { workspaces = {} } = config;
  const own = { ...workspaces[place.workspace], baseUrl, apiKeyVariable: place.keyVariable, ...share };
  const next = {
    ...config,
    ...(dataDir === null ? {} : { dataDir }),
    ...(place.isInFile ? { workspaces: { ...workspaces, [place.workspace]: own } } : share),
  };
  if (JSON.stringify(next) === JSON.stringify(config)) return null;
  return `${JSON.stringify(next, null, 2)}\n`;
}

// Returns null outside a git checkout. Adds only lines that `.gitignore` does not contain yet.
function ignored(folder: string, dataFolder: string): string | null {
  if (!isInCheckout(folder)) return null;
  const text = readText(join(folder, '.gitignore')) ?? '';
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const data = relative(folder, dataFolder);
  const isWithin = data !== '' && !data.startsWith('..') && !/^([A-Za-z]:|\/)/.test(data);
  const wanted = [ENV_FILE, ...(isWithin ? [`/${escaped(data.split(sep).join('/'))}/`] : [])];
  const missing = wanted.filter((line) => {
    const bare = line.replace(/^\/|\/$/g, '');
    return ![bare, `/${bare}`, `${bare}/`, `/${bare}/`, `/${bare}/*`].some((form) => lines.includes(form));
  });
  if (missing.length === 0) return null;
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return `${before}${missing.join('\n')}\n`;
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, '\\$&');
}

function isInCheckout(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return true;
    if (dirname(at) === at) return false;
  }
}

// Uses `mode`, or the mode of the existing file. Returns false if neither text nor mode changes.
async function writeAside(path: string, text: string, mode: number | null): Promise<boolean> {
  const target = existsSync(path) ? realpathSync(path) : path;
  const before = statSync(target, { throwIfNoEntry: false });
  const wanted = mode ?? (before === undefined ? 0o644 : before.mode & 0o777);
  if (before !== undefined && (before.mode & 0o777) === wanted && readText(target) === text) return false;
  const aside = join(dirname(target), `.${basename(target)}.${process.pid}`);
  try {
    const file = await open(aside, 'wx', wanted);
    try {
      await file.writeFile(text);
      await file.chmod(wanted);
      await file.sync();
    } finally {
      await file.close();
    }
    // If root configures another user's installation, the files keep their owner.
    if (before !== undefined) await chown(aside, before.uid, before.gid).catch(() => undefined);
    await publishByRename(aside, target);
    return true;
  } catch (thrown) {
    await rm(aside, { force: true });
    const error = toSightlineError(thrown);
    throw new SightlineError(error.code, `cannot write ${path}: ${error.message}`, { cause: thrown });
  }
}
