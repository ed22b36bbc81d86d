import { hideKeys, type SightlineError } from '../base/errors.ts';
import { terminal } from './terminal.ts';

/** Writes data for the next program to standard output. */
export function printData(text: string): void {
  terminal().stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Writes something for a person to standard error. */
export function say(text: string): void {
  terminal().stderr.write(`${text}\n`);
}

/** Reports an error: a sentence and what to do for a person, or one JSON line on standard output for a program. */
export function reportError(error: SightlineError, json: boolean): void {
  if (json) printData(JSON.stringify({ error: { code: error.code, message: error.message, hint: error.hint } }));
  say(`sightline: ${error.message}`);
  if (error.code !== 'interrupted') say(error.hint);
  if (error.code === 'internal' && error.cause instanceof Error)
    say(hideKeys(error.cause.stack ?? error.cause.message));
}

/** A whole number with thousands set apart: 12,345. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `3 files`, `1 file`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** A duration for people: 45 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A size for people: 812 kB, 1.2 MB. */
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
