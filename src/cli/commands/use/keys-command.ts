import { dirname } from 'node:path';
import type { WorkspaceConfig } from '../../../base/config/config.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { addDays, DAY_MS, dayOf, shownTime } from '../../../contract/time.ts';
import type { MetricsSource } from '../../../read/metrics/table-result.ts';
import type { Key } from '../../../serve/auth/keys.ts';
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../../../workspace/stored-keys.ts';
import type { Context } from '../../../workspace/workspace.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { printData, printJson, say } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand, defineGroup } from '../../program/define-command.ts';
import { argument, flag, type Kind, list, option, refused, texts, toExistingDay } from '../../program/option-kinds.ts';

const DAYS_MAX = 3_650;
const scopeNames = list('<scopes...>', `scopes of the key (default: ${DEFAULT_SCOPES.join(', ')})`);
const scopes: Kind<readonly Scope[] | null> = {
  ...scopeNames,
  choices: SCOPES,
  parse: (given, flag) => scopeNames.parse(given, flag)?.map((name) => toScope(flag, name)) ?? null,
};

const create = defineCommand({
  arguments: { name: argument('<name>', 'name of the key, such as its user') },
  options: {
    ...workspaceOptions,
    expires: option(
      '<when>',
      'number of days, such as 30d, or the last valid day, YYYY-MM-DD (default: never)',
      toExpiry,
    ),
    scope: scopes,
    brand: texts('<brands...>', 'limit the key to these brands, by ID or exact name', toBrand),
    workspaces: list('<names...>', 'the key opens these workspaces'),
    allWorkspaces: flag('the key opens all workspaces, including new ones'),
  },
  examples: [
    ['sightline keys create anna', 'create a key that does not expire'],
    [
      'sightline keys create report-tool --scope read --brand Acme --expires 30d',
      'limit a key to reading a brand, for 30 days',
    ],
  ],
  run: async ({ name, expires, scope, brand, workspaces, allWorkspaces, ...unread }, begin) => {
    const { config, context, flags, json } = begin(unread);
    const { createKey } = await import('../../../serve/auth/keys.ts');
    const isFleet = allWorkspaces || workspaces !== null;
    const { folder, opens } = isFleet ? await fleetOf(flags, workspaces, allWorkspaces) : await ownOf(await config());
    const { key, text } = await createKey(folder, name, expires, terminal().clock.now(), {
      scopes: scope ?? DEFAULT_SCOPES,
      brands: brand.length === 0 ? null : brand,
      workspaces: opens,
    });
    if (json) {
      printJson('keys create', { ...key, key: text });
      return EXIT.done;
    }
    printData(text);
    const until = key.expiresAt === null ? '' : `, until ${shownTime(key.expiresAt)}`;
    const where = key.workspaces === null ? `workspace ${(await config()).name}` : shownWorkspaces(key);
    say(
      `Key ${JSON.stringify(key.name)} opens \`sightline serve\` of ${where}${until}, with ${shownRights(key)}. Store it now:`,
    );
    say('it is not saved here and will not be shown again.');
    if (brand.length > 0 && !isFleet) await sayMissing(brand, await context());
    return EXIT.done;
  },
});

const listing = defineCommand({
  options: workspaceOptions,
  examples: [
    ['sightline keys list', 'list the keys'],
    ['sightline keys list --workspace acme --json', 'list those of a workspace as JSON'],
  ],
  run: async (unread, begin) => {
    const { config, json } = begin(unread);
    const { listKeys, opensWorkspace } = await import('../../../serve/auth/keys.ts');
    const { folder, name } = await config();
    const fleet = listKeys(dirname(folder)).filter((key) => key.workspaces !== null && opensWorkspace(key, name));
    const keys = [...listKeys(folder), ...fleet];
    const now = terminal().clock.now();
    if (json) {
      printJson(
        'keys list',
        keys.map((key) => ({ ...key, expired: isExpired(key, now) })),
      );
      return EXIT.done;
    }
    const names = ['name', 'prefix', 'created', 'expires', 'scopes', 'brand', 'workspaces', 'id'];
    const columns = names.map((column) => ({ name: column, type: 'VARCHAR' }));
    const rows = keys.map((key) => [
      key.name,
      key.prefix,
      shownTime(key.createdAt),
      describeExpiry(key, now),
      key.scopes.join(', '),
      key.brands?.join(', ') ?? 'all',
      key.workspaces === null ? name : shownWorkspaces(key),
      key.id,
    ]);
    printData(formatRows({ columns, rows }, 'table'));
    if (keys.length === 0) say('No keys. Create one with `sightline keys create NAME`.');
    return EXIT.done;
  },
});

const revoke = defineCommand({
  arguments: { which: argument('<key>', 'name, prefix or ID of the key') },
  options: workspaceOptions,
  examples: [
    ['sightline keys revoke anna', 'revoke a key by name'],
    ['sightline keys revoke anna --workspace acme', 'revoke a key of another workspace'],
  ],
  run: async ({ which, ...unread }, begin) => {
    const { config, json } = begin(unread);
    const { revokeKey } = await import('../../../serve/auth/keys.ts');
    const { folder } = await config();
    const key = await revokeKey(folder, which, dirname(folder));
    if (json) printJson('keys revoke', key);
    else say(`Key ${JSON.stringify(key.name)} (${key.prefix}…) is revoked; running servers reject it from now on.`);
    return EXIT.done;
  },
});

export const keys = defineGroup({
  create: { about: 'create a key and print it once', add: create },
  list: { about: 'list the keys', add: listing },
  revoke: { about: 'revoke a key at once', add: revoke },
});

async function ownOf({ folder }: WorkspaceConfig) {
  return { folder, opens: null };
}

async function fleetOf(flags: WorkspaceFlags, names: readonly string[] | null, isAll: boolean) {
  if (flags.workspace !== undefined) {
    throw new SightlineError('usage', '--workspace cannot be combined with --workspaces or --all-workspaces');
  }
  if (isAll && names !== null)
    throw new SightlineError('usage', '--all-workspaces cannot be combined with --workspaces');
  const { readConfig } = await import('../../checked-config.ts');
  const { readDataFolder } = await import('../../context.ts');
  const opens = names?.map((name) => readConfig({ ...flags, workspace: name }).name) ?? ('all' as const);
  return { folder: readDataFolder(flags), opens };
}

// A key may be created before its brand, and without data.
async function sayMissing(brands: readonly string[], context: Context): Promise<void> {
  const { runOnReplica } = await import('../../../operations/run-on-replica.ts');
  const { limitReplica } = await import('../../../read/open-replica.ts');
  const compare = async ({ replica }: MetricsSource) => {
    const missing = brands.filter((brand) => limitReplica(replica, [brand]).brands.size === 0);
    return { missing, known: [...replica.brands.values()].flatMap(({ name }) => name ?? []) };
  };
  const found = await runOnReplica(context, compare, new URLSearchParams()).catch(() => null);
  for (const brand of found?.missing ?? []) {
    say(
      `The data have no brand ${JSON.stringify(brand)}, so the key reads nothing of it yet. Brands: ${found?.known.join(', ')}.`,
    );
  }
}

function toScope(name: string, given: string): Scope {
  const known = SCOPES.find((scope) => scope === given);
  if (known !== undefined) return known;
  throw refused(name, given, SCOPES.join(', '));
}

function toBrand(given: string, name: string): string {
  if (given.trim() !== '') return given;
  throw refused(name, given, 'the ID or the exact name of a brand');
}

function shownWorkspaces({ workspaces }: Key): string {
  if (workspaces === null || workspaces === 'all') return 'all workspaces';
  return workspaces.join(', ');
}

function shownRights({ scopes: allowed, brands }: Key): string {
  const limit =
    brands === null ? 'all brands' : `the brands ${brands.map((brand) => JSON.stringify(brand)).join(', ')}`;
  return `the scopes ${allowed.join(', ')} and ${limit}`;
}

// A day is the last day (UTC) on which the key is valid. Returns epoch milliseconds.
function toExpiry(given: string, name: string): number {
  const nowMs = terminal().clock.now();
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
