import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SightlineError } from '../errors.ts';
import { utf8Text } from '../utf8.ts';

/** Suffix of variables that contain the path of a file with the secret instead of the secret. */
const ENDING = '_FILE';
/** Larger files cannot be keys. */
const FILE_BYTES_MAX = 64 * 1024;
/** Mount point of container secrets. Every user of the container can read them, which is acceptable because it has one user. */
const SECRETS_FOLDER = '/run/secrets/';

/**
 * Returns a secret from its variable, or from the file whose path (relative to `folder`) is in the variable with the suffix
 * `_FILE`. Returns undefined if neither is set.
 * @throws `config_invalid` if both are set, or if the file is unreadable, empty, too large or readable by every user of the machine
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
    throw new SightlineError('config_invalid', `${variable} and ${name} are both set; allowed: one of the two`);
  }
  return readSecretFile(name, resolve(folder, path));
}

function readSecretFile(name: string, path: string): string {
  try {
    const { mode, size } = statSync(path);
    const isOpen = process.platform !== 'win32' && (mode & 0o004) !== 0 && !path.startsWith(SECRETS_FOLDER);
    if (isOpen)
      throw refusal(name, path, 'is readable by every user of this machine; remove that permission with chmod o-r');
    if (size > FILE_BYTES_MAX)
      throw refusal(name, path, `is too large for a key: ${size} bytes; allowed: up to ${FILE_BYTES_MAX}`);
    const text = utf8Text(readFileSync(path));
    if (text === null) throw refusal(name, path, 'is not UTF-8 text but UTF-16 or binary; allowed: UTF-8');
    if (text.trim() === '') throw refusal(name, path, 'is empty; allowed: a file with the secret');
    return text.trim();
  } catch (thrown) {
    if (thrown instanceof SightlineError) throw thrown;
    throw refusal(name, path, `cannot be read (${(thrown as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

function refusal(name: string, path: string, what: string): SightlineError {
  return new SightlineError('config_invalid', `${name}: the file ${path} ${what}`);
}

/**
 * Returns the API key of a workspace without blanks around it. The rejected key is not shown: it may be a secret of another service.
 * @throws `config_invalid` if the key is missing or not in the form of the API's keys
 */
export function checkKey(name: string, value: string | undefined): string {
  const key = 'an API key of the workspace; it begins with gsk_';
  if (value === undefined || value.trim() === '') {
    throw new SightlineError('config_invalid', `${name} is not set; allowed: ${key}`);
  }
  if (!/^gsk_[\x21-\x7e]+$/.test(value.trim())) {
    throw new SightlineError('config_invalid', `${name} is not an API key; allowed: ${key}, without spaces`);
  }
  return value.trim();
}
