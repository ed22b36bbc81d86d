import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { SightlineError } from './errors.ts';
import { visibleLine } from './visible.ts';

/** Extensions of files with declarations. */
const MODULES = ['.js', '.mjs', '.ts', '.mts'];
const EXTENSIONS = [...MODULES, '.json'];
/** Files that one pattern may select. */
const FILES_MAX = 1_000;

/**
 * Returns the files that a path with `*` in its last segment selects, in alphabetical order.
 * @throws `config_invalid` if there are none, more than 1,000, or one with another extension
 */
export function filesOf(setting: string, pattern: string): string[] {
  const fail = (problem: string, may: string): never => {
    throw new SightlineError('config_invalid', `${setting} ${JSON.stringify(pattern)} ${problem}; allowed: ${may}`);
  };
  const folder = dirname(pattern);
  if (folder.includes('*')) fail('has * in the name of a folder', '* in the name of the file');
  const parts = basename(pattern).split('*');
  const form = new RegExp(`^${parts.map((part) => part.replace(/[.\\+?^${}()|[\]]/g, '\\$&')).join('.*')}$`);
  const names = listFolder(folder).filter((name) => form.test(name) && !/\.d\.m?ts$/.test(name));
  if (names.length === 0) fail('selects no file', 'the path of a file, relative to the configuration file');
  if (names.length > FILES_MAX) fail(`selects ${names.length} files`, `at most ${FILES_MAX}`);
  const other = names.find((name) => !EXTENSIONS.includes(extname(name)));
  if (other !== undefined) fail(`selects ${other}`, `files with the extension ${EXTENSIONS.join(', ')}`);
  return names.sort().map((name) => join(folder, name));
}

/**
 * Returns the value of a JSON file, or the default export of a module. A module is executed with the rights of this process.
 * @throws `config_invalid` if the file cannot be read or imported
 */
export function readDeclared(setting: string, path: string): unknown {
  const fail = (problem: string, cause?: unknown): never => {
    throw new SightlineError('config_invalid', `${setting} ${path} ${problem}`, { cause });
  };
  if (extname(path) === '.json') {
    try {
      return JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
    } catch (thrown) {
      return fail(`cannot be read as JSON: ${visibleLine((thrown as Error).message)}`, thrown);
    }
  }
  if (extname(path).endsWith('ts') && !importsTypeScript()) {
    const may = 'allowed: .js, .mjs and .json files, or Node 22.18 or later';
    fail(`is TypeScript, which Node ${process.versions.node} cannot import; ${may}`);
  }
  let module: unknown;
  try {
    // Synchronous, so that settings can be validated before a command starts.
    module = createRequire(import.meta.url)(path);
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code === 'ERR_REQUIRE_ASYNC_MODULE')
      fail('uses await outside a function; allowed: a module without it', thrown);
    return fail(`cannot be imported: ${message}`, thrown);
  }
  const value = (module as { readonly default?: unknown }).default;
  return value ?? fail('has no default export; allowed: a declaration, a list, or a function that returns them');
}

function importsTypeScript(): boolean {
  const features: object = process.features;
  return 'typescript' in features && features.typescript !== false;
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
