import { existsSync, realpathSync, statSync } from 'node:fs';
import { chown, open, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { parseEnv } from 'node:util';
import { DEFAULT_WORKSPACE, declaredWorkspaces } from '../base/config.ts';
import { CONFIG_FILE, readText } from '../base/config-file.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { publishByRename } from '../base/files.ts';

/** File of variables, in the folder where sightline is started. */
export const ENV_FILE = '.env';

/** The variables of the workspace that needs no file. */
const URL_VARIABLE = 'SIGHTLINE_BASE_URL';
const KEY_VARIABLE = 'SIGHTLINE_API_KEY';

/** Where the settings of a workspace go. */
export interface Place {
  readonly workspace: string;
  /** Whether the address goes into the configuration file; into `.env` otherwise. */
  readonly isInFile: boolean;
  /** The variable of the key, which always goes into `.env`. */
  readonly keyVariable: string;
  /** The address that is there already. */
  readonly baseUrl: string | undefined;
}

/** What is to be written. */
export interface Settings {
  readonly baseUrl: string;
  /** Null for one that is kept in a file of its own. */
  readonly key: string | null;
  /** Null where nothing is said of it. */
  readonly dataDir: string | null;
  /** The folder of data that follows from all settings, absolute. */
  readonly dataFolder: string;
  readonly budgetShare: number | null;
  /** Whether a folder of data that is configured already may be changed, which is for all workspaces. */
  readonly force: boolean;
}

/** Where a workspace's settings are, or go. Throws `config_invalid` for a file that cannot be read. */
export function placeOf(
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

// acme: ACME_KEY; a variable's name cannot begin with a digit, and acme-x and acme_x would share one.
function newVariable(workspace: string, taken: readonly string[]): string {
  const name = workspace.toUpperCase().replaceAll('-', '_');
  const first = `${/^\d/.test(name) ? 'WORKSPACE_' : ''}${name}_KEY`;
  let variable = first;
  for (let number = 2; taken.includes(variable); number += 1) variable = `${first}_${number}`;
  return variable;
}

/** The key that `.env` holds in a variable, or undefined. */
export function keyInFile(folder: string, variable: string): string | undefined {
  const value = parseEnv(readText(join(folder, ENV_FILE)) ?? '')[variable]?.trim();
  return value === '' ? undefined : value;
}

/**
 * Writes the settings: what git is to leave alone first, the key last, each file aside and renamed. Lines and members that
 * are there stay. Returns the files that have changed. Throws `folder_unwritable`, or `config_invalid` where a file there
 * cannot be changed without changing what else it says; then that one and those after it are as they were.
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

/** The text of a file of variables with these set, and every other line as it was. Throws `config_invalid`. */
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
  // A last line without an end gets that of the others.
  const whole = end !== '' && !text.endsWith('\n') ? kept.with(-1, `${kept.at(-1)?.replace(/\r$/, '')}\r`) : kept;
  const added = [...left].map(([name, value]) => `${name}=${quoted(value)}${end}`);
  const result = [...whole, ...added, ''].join('\n');
  const before = parseEnv(text);
  const after = parseEnv(result);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const isRight = [...names].every((name) => after[name] === (variables[name] ?? before[name]));
  if (isRight) return result;
  throw new SightlineError(
    'config_invalid',
    `${ENV_FILE} cannot be changed without changing what else it says; set ${Object.keys(variables).join(' and ')} by hand`,
  );
}

function quoted(value: string): string {
  if (/^[\w.:/~+=@%,-]*$/.test(value)) return value;
  const mark = ["'", '"', '`'].find((candidate) => !value.includes(candidate)) ?? "'";
  return `${mark}${value}${mark}`;
}

function configured(folder: string, place: Place, { baseUrl, dataDir, budgetShare, force }: Settings): string | null {
  const text = readText(join(folder, CONFIG_FILE));
  // What it says was read and checked before.
  const config = JSON.parse(text ?? '{}') as Record<string, unknown> & { workspaces?: Record<string, object> };
  const { dataDir: there } = config;
  if (dataDir !== null && there !== undefined && there !== dataDir && !force) {
    const what = `${CONFIG_FILE} keeps the data of all workspaces in ${JSON.stringify(there)}`;
    throw new SightlineError('usage', `${what}; nothing was written; --force changes that, and moves no data`);
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

// Within a git checkout only, and only what no line there names already.
function ignored(folder: string, dataFolder: string): string | null {
  if (!isInCheckout(folder)) return null;
  const text = readText(join(folder, '.gitignore')) ?? '';
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const data = relative(folder, dataFolder);
  const isWithin = data !== '' && !data.startsWith('..') && !/^([A-Za-z]:|\/)/.test(data);
  const wanted = [ENV_FILE, ...(isWithin ? [`/${escaped(data.split(sep).join('/'))}/`] : [])];
  const missing = wanted.filter((line) => {
    const bare = line.replace(/^\/|\/$/g, '');
    return ![bare, `/${bare}`, `${bare}/`, `/${bare}/`].some((form) => lines.includes(form));
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

// With the mode, or else that of the file there is; true when that says or allows something else.
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
    // Who sets up somebody else's installation, as root does, leaves them their files.
    if (before !== undefined) await chown(aside, before.uid, before.gid).catch(() => undefined);
    await publishByRename(aside, target);
    return true;
  } catch (thrown) {
    await rm(aside, { force: true });
    const error = toSightlineError(thrown);
    throw new SightlineError(error.code, `cannot write ${path}: ${error.message}`, { cause: thrown });
  }
}
