import { systemClock } from '../../../base/clock.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { addDays, DAY_MS, dayOf, shownTime } from '../../../contract/time.ts';
import type { Key } from '../../../serve/auth/keys.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand, defineGroup } from '../../program/define-command.ts';
import { argument, option, refused, toExistingDay } from '../../program/option-kinds.ts';

const DAYS_MAX = 3_650;
const forwardable = () => ({ needsWarehouse: false });

const create = defineCommand({
  arguments: { name: argument('<name>', 'name of the key, such as its user') },
  options: {
    ...workspaceOptions,
    expires: option(
      '<when>',
      'number of days, such as 30d, or the last valid day, YYYY-MM-DD (default: never)',
      toExpiry,
    ),
  },
  forwardable,
  examples: [
    ['sightline keys create anna', 'create a key that does not expire'],
    ['sightline keys create report-tool --expires 30d', 'create a key for 30 days'],
  ],
  run: async ({ name, expires, ...unread }, begin) => {
    const { config: load, json } = begin(unread);
    const { createKey } = await import('../../../serve/auth/keys.ts');
    const config = await load();
    const { key, text } = await createKey(config.folder, name, expires, systemClock.now());
    if (json) {
      printJson('keys create', { ...key, key: text });
      return EXIT.done;
    }
    printData(text);
    const until = key.expiresAt === null ? '' : `, until ${shownTime(key.expiresAt)}`;
    say(`Key ${JSON.stringify(key.name)} opens \`sightline serve\` of workspace ${config.name}${until}. Store it now:`);
    say('it is not saved here and will not be shown again.');
    return EXIT.done;
  },
});

const list = defineCommand({
  options: workspaceOptions,
  forwardable,
  examples: [
    ['sightline keys list', 'list the keys'],
    ['sightline keys list --workspace acme --json', 'list those of a workspace as JSON'],
  ],
  run: async (unread, begin) => {
    const { config, json } = begin(unread);
    const { listKeys } = await import('../../../serve/auth/keys.ts');
    const keys = listKeys((await config()).folder);
    const now = systemClock.now();
    if (json) {
      printJson(
        'keys list',
        keys.map((key) => ({ ...key, expired: isExpired(key, now) })),
      );
      return EXIT.done;
    }
    const columns = ['name', 'prefix', 'created', 'expires', 'id'].map((name) => ({ name, type: 'VARCHAR' }));
    const rows = keys.map((key) => [key.name, key.prefix, shownTime(key.createdAt), describeExpiry(key, now), key.id]);
    printData(formatRows({ columns, rows }, 'table'));
    if (keys.length === 0) say('No keys. Create one with `sightline keys create NAME`.');
    return EXIT.done;
  },
});

const revoke = defineCommand({
  arguments: { which: argument('<key>', 'name, prefix or ID of the key') },
  options: workspaceOptions,
  forwardable,
  examples: [
    ['sightline keys revoke anna', 'revoke a key by name'],
    ['sightline keys revoke anna --workspace acme', 'revoke a key of another workspace'],
  ],
  run: async ({ which, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { revokeKey } = await import('../../../serve/auth/keys.ts');
    const key = await revokeKey((await config()).folder, which);
    if (json) printJson('keys revoke', key);
    else say(`Key ${JSON.stringify(key.name)} (${key.prefix}…) is revoked; running servers reject it from now on.`);
    return EXIT.done;
  },
});

export const keys = defineGroup({
  create: { about: 'create a key and print it once', add: create },
  list: { about: 'list the keys', add: list },
  revoke: { about: 'revoke a key at once', add: revoke },
});

// A day is the last day (UTC) on which the key is valid. Returns epoch milliseconds.
function toExpiry(given: string, name: string): number {
  const nowMs = systemClock.now();
  const days = Number(/^(\d{1,5})d$/.exec(given)?.[1]);
  if (days >= 1 && days <= DAYS_MAX) return nowMs + days * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(given)) throw refused(name, given, `1d to ${DAYS_MAX}d, or a day as YYYY-MM-DD`);
  const day = toExistingDay(name, given);
  if (day < dayOf(nowMs)) throw new SightlineError('usage', `${name} is ${day}; allowed: today or a later day`);
  return Date.parse(`${addDays(day, 1)}T00:00:00Z`);
}

function describeExpiry(key: Key, nowMs: number): string {
  if (key.expiresAt === null) return 'never';
  return isExpired(key, nowMs) ? `expired ${shownTime(key.expiresAt)}` : shownTime(key.expiresAt);
}

function isExpired({ expiresAt }: Key, nowMs: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= nowMs;
}
