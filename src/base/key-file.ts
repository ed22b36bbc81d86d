import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SightlineError } from './errors.ts';

/** What is added to a variable's name where it holds the path of a file in place of the secret. */
const ENDING = '_FILE';
/** Larger files hold something else. */
const FILE_BYTES_MAX = 64 * 1024;
/** Where container engines put secrets, readable for all of the container, which is one user's anyway. */
const SECRETS_FOLDER = '/run/secrets/';

/**
 * A secret's value: that of its variable, or what stands in the file whose path the variable of the same name with `_FILE`
 * holds, relative to `folder`; undefined where neither is set. Throws `config_invalid` where both are, and for a file that
 * cannot be read or that every user of the machine may read.
 */
export function readSecret(
  variable: string,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): string | undefined {
  const value = environment[variable];
  const name = `${variable}${ENDING}`;
  const path = environment[name];
  if (path === undefined || path === '') return value;
  if (value !== undefined && value.trim() !== '') {
    throw new SightlineError('config_invalid', `${variable} and ${name} are both set; allowed: one of them`);
  }
  return readSecretFile(name, resolve(folder, path));
}

/** The variable that a secret stands in, or whose file another one names. */
export function withoutFile(variable: string): string {
  return variable.endsWith(ENDING) ? variable.slice(0, -ENDING.length) : variable;
}

/** The settings with these variables themselves in place of the files that hold them; a file that cannot be read stays named. */
export function withSecrets(
  settings: Readonly<Record<string, string>>,
  variables: readonly string[],
  folder: string,
): Record<string, string> {
  const result = { ...settings };
  for (const variable of variables) {
    try {
      const secret = readSecret(variable, settings, folder);
      if (secret === undefined || secret === settings[variable]) continue;
      result[variable] = secret;
      delete result[`${variable}${ENDING}`];
    } catch {
      // What needs it says what is wrong with it.
    }
  }
  return result;
}

function readSecretFile(name: string, path: string): string {
  try {
    const { mode, size } = statSync(path);
    const isOpen = process.platform !== 'win32' && (mode & 0o004) !== 0 && !path.startsWith(SECRETS_FOLDER);
    if (isOpen) throw refusal(name, path, 'can be read by every user of this machine; take that away with chmod o-r');
    if (size > FILE_BYTES_MAX) throw refusal(name, path, 'is too large to hold a key');
    return readFileSync(path, 'utf8').trim();
  } catch (thrown) {
    if (thrown instanceof SightlineError) throw thrown;
    throw refusal(name, path, `cannot be read (${(thrown as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

function refusal(name: string, path: string, what: string): SightlineError {
  return new SightlineError('config_invalid', `${name}: the file ${path} ${what}`);
}
