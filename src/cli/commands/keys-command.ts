import { systemClock } from '../../base/clock.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { addDays, DAY_MS, dayOf } from '../../contract/time.ts';
import { createKey, type Key, listKeys, revokeKey } from '../../serve/auth/keys.ts';
import { readConfig, toDayFlag, type WorkspaceFlags } from '../context.ts';
import { printData, say } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';

const DAYS_MAX = 3_650;

/** Flags of `keys create`. */
export interface CreateKeyFlags extends WorkspaceFlags {
  readonly expires?: string;
}

/** Runs `sightline keys create` and returns its exit code. Prints only the key on standard output. */
export async function createKeyCommand(name: string, flags: CreateKeyFlags): Promise<number> {
  const config = readConfig(flags);
  const now = systemClock.now();
  const expiresAtMs = flags.expires === undefined ? null : toExpiry(flags.expires, now);
  const { key, text } = await createKey(config.folder, name, expiresAtMs, now);
  if (flags.json === true) {
    printData(JSON.stringify({ ...key, key: text }));
    return EXIT.done;
  }
  printData(text);
  const until = key.expiresAt === null ? '' : `, until ${toMinute(key.expiresAt)}`;
  say(`Key ${JSON.stringify(key.name)} opens \`sightline serve\` of workspace ${config.name}${until}. Store it now:`);
  say('it is not saved here and will not be shown again.');
  return EXIT.done;
}

/** Runs `sightline keys list` and returns its exit code. */
export function listKeysCommand(flags: WorkspaceFlags): number {
  const keys = listKeys(readConfig(flags).folder);
  const now = systemClock.now();
  if (flags.json === true) {
    printData(JSON.stringify(keys.map((key) => ({ ...key, expired: isExpired(key, now) }))));
    return EXIT.done;
  }
  const columns = ['name', 'prefix', 'created', 'expires', 'id'].map((name) => ({ name, type: 'VARCHAR' }));
  const rows = keys.map((key) => [key.name, key.prefix, toMinute(key.createdAt), describeExpiry(key, now), key.id]);
  printData(formatRows({ columns, rows }, 'table'));
  if (keys.length === 0) say('No keys. Create one with `sightline keys create NAME`.');
  return EXIT.done;
}

/** Runs `sightline keys revoke` and returns its exit code. */
export async function revokeKeyCommand(which: string, flags: WorkspaceFlags): Promise<number> {
  const key = await revokeKey(readConfig(flags).folder, which);
  if (flags.json === true) printData(JSON.stringify(key));
  else say(`Key ${JSON.stringify(key.name)} (${key.prefix}…) is revoked; running servers reject it from now on.`);
  return EXIT.done;
}

// A day is the last day (UTC) on which the key is valid.
function toExpiry(text: string, nowMs: number): number {
  const days = Number(/^(\d{1,5})d$/.exec(text)?.[1]);
  if (days >= 1 && days <= DAYS_MAX) return nowMs + days * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) {
    const allowed = `1d to ${DAYS_MAX}d, or a day as YYYY-MM-DD`;
    throw new SightlineError('usage', `--expires is ${JSON.stringify(text)}; allowed: ${allowed}`);
  }
  const day = toDayFlag('--expires', text);
  if (day < dayOf(nowMs)) throw new SightlineError('usage', `--expires is ${day}; allowed: today or a later day`);
  return Date.parse(`${addDays(day, 1)}T00:00:00Z`);
}

function describeExpiry(key: Key, nowMs: number): string {
  if (key.expiresAt === null) return 'never';
  return isExpired(key, nowMs) ? `expired ${toMinute(key.expiresAt)}` : toMinute(key.expiresAt);
}

function isExpired({ expiresAt }: Key, nowMs: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs;
}

function toMinute(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}
