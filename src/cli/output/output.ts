import { chmod, stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { hideKeys, type SightlineError } from '../../base/errors.ts';
import { visible } from '../../base/visible.ts';
import type { JsonName, JsonValue } from '../json/json-outputs.ts';
import { type Output, terminal } from './terminal.ts';

/** Causes of an error that `--verbose` shows. */
const CAUSES_MAX = 10;

/**
 * Writes text or JSON to standard output, with control characters as visible escapes. With `isExact`, for formats such as CSV
 * that have no escapes, it replaces them on a terminal only.
 */
export function printData(text: string, { isExact = false } = {}): void {
  const { stdout } = terminal();
  const shown = isExact && stdout.isTTY !== true ? text : visible(text);
  stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
}

/** Standard output for data written in pieces. Control characters are replaced on a terminal only. */
export function exactOutput(): Output {
  const { stdout } = terminal();
  if (stdout.isTTY !== true) return stdout;
  const decoder = new TextDecoder();
  const safe = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, visible(decoder.decode(chunk, { stream: true }))),
  });
  safe.pipe(stdout, { end: false });
  return safe;
}

/** Applies the user's umask to files and folders that a command wrote outside the data folder. */
export async function applyUserUmask(paths: readonly string[]): Promise<void> {
  const { umask } = terminal();
  if (umask === null) return;
  for (const path of paths) await chmod(path, ((await stat(path)).isDirectory() ? 0o777 : 0o666) & ~umask);
}

/** Writes a command's result to standard output as a line of JSON. `name` selects its declaration in `json-outputs.ts`. */
export function printJson<N extends JsonName>(_name: N, value: JsonValue<N>): void {
  printValue(value);
}

/** Writes the result of an operation to standard output as a line of JSON. */
export function printValue(value: unknown): void {
  printData(JSON.stringify(value));
}

/** Writes a message to standard error. */
export function say(text: string): void {
  terminal().stderr.write(`${visible(text)}\n`);
}

/**
 * Reports an error: the message and the next step on standard error, and with `json` one JSON line on standard output. With
 * `--verbose` it adds the stacks of the error and its causes.
 */
export function reportError(error: SightlineError, json: boolean): void {
  if (json) printJson('error', errorJson(error));
  say(`sightline: ${error.message}`);
  if (error.code !== 'interrupted') say(error.hint);
  if (!terminal().isVerbose) return;
  let cause: unknown = error;
  for (let depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth += 1) {
    say(hideKeys(cause.stack ?? cause.message));
    cause = cause.cause;
  }
}

/** The JSON form of an error. */
export function errorJson({ code, message, hint, facts }: SightlineError) {
  return { error: { code, message, hint, ...facts } };
}

/** Formats an integer with thousands separators: 12,345. Without `Intl`, because loading its data takes 10 ms. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** `3 files`, `1 file`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Formats a duration: 45 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a size: 812 kB, 1.2 MB. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (Math.round(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
