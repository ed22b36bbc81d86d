import { readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomOf } from '../../src/sandbox/random.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { type Damage, damageFile, damages, replaceByFolder } from './damages.ts';
import { type DamagedCopy, type Ended, follow, instructionsOf, makeTemplate, type Template } from './workspace.ts';

// Damages every kind of file of a workspace in every way. Each command must end with a documented exit code and one
// sentence, and the command that the message names must restore the original tables.

/** Damages of each kind of file: those that are met fast, those that need a sync, and those in a separate copy of the workspace. */
const LIGHT = countOf(3, 15);
const SLOW = countOf(1, 5);
const HEAVY = countOf(1, 5);
/** Follow the remedy of every n-th damaged file to the end. */
const HEAL_EVERY = countOf(5, 1);
/** Limit of remedies followed one after another, such as moving a file away and then syncing. */
const STEPS_MAX = 5;
/** Exit codes of the table in src/base/errors.ts, without 130. */
const EXITS = [0, 1, 2, 3, 4];

/** A kind of file, and the commands to run after damaging it. */
interface Kind {
  readonly name: string;
  readonly path: (patient: DamagedCopy) => string;
  /** Arguments of the command that reads the file. */
  readonly meet: readonly string[];
  /** Whether the command takes long. */
  readonly isSlow?: true;
  readonly prepare?: (patient: DamagedCopy) => void;
}

const inData =
  (name: string) =>
  ({ data }: DamagedCopy): string =>
    join(data, name);

/** Damaged in place one after another in one folder, because no command changes anything else. */
const lightKinds: readonly Kind[] = [
  { name: 'keys.json', path: inData('keys.json'), meet: ['keys', 'list'] },
  { name: 'jobs.json', path: inData('jobs.json'), meet: ['jobs'] },
  { name: 'owner.json', path: inData('owner.json'), meet: ['sync', '--only', 'prompts'], isSlow: true },
  { name: 'home.json', path: inData('home.json'), meet: ['sync', '--only', 'prompts'], isSlow: true },
  { name: 'sightline.config.json', path: ({ folder }) => join(folder, 'sightline.config.json'), meet: ['jobs'] },
  { name: '.env', path: ({ folder }) => join(folder, '.env'), meet: ['status'], isSlow: true },
  { name: 'the budget log', path: budgetLog, meet: ['sync', '--only', 'prompts'], isSlow: true },
];

/** Each damaged in a separate copy of the workspace. */
const heavyKinds: readonly Kind[] = [
  { name: 'warehouse.duckdb', path: inData('warehouse.duckdb'), meet: ['sync'] },
  { name: 'warehouse.duckdb.wal', path: inData('warehouse.duckdb.wal'), meet: ['sync'] },
  {
    name: 'analytics.duckdb',
    path: inData('analytics.duckdb'),
    meet: ['sql', 'select sum(hash(r)) from responses r'],
    prepare: makeReplicaCurrent,
  },
  { name: 'a raw page file', path: rawFile, meet: ['replay'] },
  { name: 'manifest.json', path: inData('snapshots/latest/manifest.json'), meet: ['doctor', '--offline'] },
  { name: 'a Parquet file', path: parquetFile, meet: ['doctor', '--offline'] },
];

function budgetLog({ folder }: DamagedCopy): string {
  const budgets = join(folder, 'data', '.budgets');
  return join(budgets, readdirSync(budgets).find((name) => name.endsWith('.log')) as string);
}

function rawFile({ data }: DamagedCopy): string {
  const raw = join(data, 'raw');
  const day = join(raw, readdirSync(raw).sort()[0] as string);
  return join(day, readdirSync(day).sort()[0] as string);
}

// The log contains no upstream data; without it, commands read the replica.
function makeReplicaCurrent({ data }: DamagedCopy): void {
  rmSync(join(data, 'warehouse.duckdb.wal'));
  utimesSync(join(data, 'analytics.duckdb'), new Date(), new Date());
}

function parquetFile({ data }: DamagedCopy): string {
  const latest = join(data, 'snapshots', 'latest');
  const { tables } = JSON.parse(readFileSync(join(latest, 'manifest.json'), 'utf8'));
  return join(latest, tables[0].files[0].path);
}

let template: Template;

beforeAll(async () => {
  template = await makeTemplate(async ({ data, folder, run }) => {
    // The sync writes the budget log.
    for (const argv of [
      ['sync', '--only', 'prompts'],
      ['keys', 'create', 'one'],
    ]) {
      const { code, text } = await run(...argv);
      expect(code, text).toBe(0);
    }
    const book = {
      version: 1,
      jobs: { nightly: { schedule: '15 2 * * * UTC', through: '2026-03-14T02:15:00Z' } },
      runs: [],
    };
    const owner = { pid: 999_999_999, command: 'sightline sync', since: '2026-03-14T02:15:00Z', host: hostname() };
    const files = {
      'jobs.json': book,
      'owner.json': owner,
      'home.json': { home: 'not a destination', savedAt: 7 },
    };
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(data, name), JSON.stringify(content), { mode: 0o600 });
    }
    writeFileSync(join(folder, 'sightline.config.json'), JSON.stringify({ connections: 4, rawDays: 30 }));
    rmSync(join(data, 'home.json'));
    await leaveLog(join(data, 'warehouse.duckdb'));
  });
});
afterAll(() => template.close());

// Leaves commits in the log, as after a kill; tables of upstream's data do not change.
async function leaveLog(path: string): Promise<void> {
  const database = await openDatabase(path);
  await database.exclusive((session) => session.run('PRAGMA disable_checkpoint_on_shutdown'));
  for (let count = 0; count < 100; count++) {
    await database.transaction((session) =>
      session.run("INSERT INTO sync.meta SELECT 'padding', repeat(CAST($1 AS VARCHAR), 200)", [count]),
    );
  }
  await database.close();
}

interface Case {
  readonly damage: Damage;
  readonly seed: number;
}

// Steps of 4 visit all 15 ways and start with dissimilar ones. Each kind starts with another way.
function casesOf(kinds: readonly Kind[], kind: Kind, count: number): Case[] {
  return Array.from({ length: count }, (_, index) => ({
    damage: damages[(index * 4 + kinds.indexOf(kind)) % damages.length] as Damage,
    seed: index + 1,
  }));
}

describe('a command that fails because of a damaged file names a remedy', () => {
  test.for(lightKinds.map((kind) => [kind.name, kind] as const))('%s', async ([, kind]) => {
    const patient = await template.copy();
    const path = kind.path(patient);
    if (kind.name === 'home.json') writeFileSync(path, '{"location":1}');
    const whole = readFileSync(path);
    for (const { damage, seed } of casesOf(lightKinds, kind, kind.isSlow === true ? SLOW : LIGHT)) {
      rmSync(path, { force: true });
      writeFileSync(path, whole, { mode: 0o600 });
      damageFile(path, damage, randomOf(seed));
      expectClean(await patient.run(...kind.meet), `${kind.name} ${damage.title}`);
    }
  });

  test.for(heavyKinds.map((kind) => [kind.name, kind] as const))('%s', async ([, kind]) => {
    for (const [index, { damage, seed }] of casesOf(heavyKinds, kind, HEAVY).entries()) {
      const patient = await template.copy();
      kind.prepare?.(patient);
      damageFile(kind.path(patient), damage, randomOf(seed));
      const what = `${kind.name} ${damage.title} (seed ${seed})`;
      const met = await patient.run(...kind.meet);
      expectClean(met, what);
      if ((index + heavyKinds.indexOf(kind)) % HEAL_EVERY === 0) await heal(patient, met, what);
    }
  });

  test('snapshots/latest that is a file, a folder or a dangling link', async () => {
    const patient = await template.copy();
    const latest = join(patient.data, 'snapshots', 'latest');
    const ways: readonly (readonly [string, () => void, number])[] = [
      ['a dangling link', () => symlinkSync('20200101T000000Z', latest), 0],
      ['a link to a file', () => symlinkSync('../keys.json', latest), 0],
      ['a file', () => writeFileSync(latest, 'text'), 1],
      ['a folder', () => replaceByFolder(latest), 1],
    ];
    for (const [what, make, exportCode] of sampleOf(ways, 2)) {
      rmSync(latest, { recursive: true, force: true });
      make();
      expectClean(await patient.run('doctor', '--offline'), what);
      const exported = await patient.run('export');
      expectClean(exported, what);
      expect(exported.code, `${what}: ${exported.text}`).toBe(exportCode);
    }
  });
});

/**
 * Follows the remedy of each error. If another command than the doctor found the damage, then a sync must be complete, and its tables
 * must be the original ones. In the end the doctor finds no failure.
 */
async function heal(patient: DamagedCopy, met: Ended, what: string): Promise<void> {
  let now = met;
  for (let step = 0; now.code !== 0 && step < STEPS_MAX; step++) {
    const [instruction, ...more] = remedies(now);
    expect(instruction, `a remedy for ${what}: ${now.text}`).toBeDefined();
    now = await follow(patient, instruction as string);
    for (const next of more) now = await follow(patient, next);
    expectClean(now, `${what}, after ${instruction}`);
  }
  if (!met.command.startsWith('sightline doctor')) {
    const synced = await patient.run('sync');
    if (synced.code !== 0 && now === met) return heal(patient, synced, what);
    expect(synced.code, `${what}, synced at last: ${synced.text}`).toBe(0);
    await template.expectRepaired(patient);
  }
  const examined = await patient.run('doctor', '--offline');
  if (examined.code === 0) return;
  await follow(patient, instructionsOf(examined.text)[0] as string);
  const last = await patient.run('doctor', '--offline');
  expect(last.code, `${what}, doctor at last: ${last.text}`).toBe(0);
}

// After an incomplete replay the warehouse is unchanged, so a sync is enough.
function remedies({ command, code, text }: Ended): string[] {
  if (command === 'sightline replay' && code === 3) return ['sightline sync'];
  return instructionsOf(text);
}

/** Checks every ended command: a documented exit code, no stack trace, no text of DuckDB, one sentence. */
function expectClean({ command, code, text }: Ended, what: string): void {
  const told = `${what}: \`${command}\` ended with ${code}: ${text}`;
  expect(EXITS, told).toContain(code);
  expect(text, told).not.toMatch(/\n\s+at |Please report|TypeError|SyntaxError/);
  expect(text, told).not.toMatch(/(IO|INTERNAL|FATAL|Serialization|Binder|Catalog|Invalid Input) Error/);
  if (code === 0 || code === 3 || command.startsWith('sightline doctor')) return;
  expect(text.split('\n')[0], told).toMatch(/^sightline: \S/);
  expect(text, told).toMatch(/`[a-z]+|allowed:|Correct the|Check |Set /);
}

test('the error of a damaged warehouse names the file and the remedy with the least data loss', async () => {
  const patient = await template.copy();
  const path = join(patient.data, 'warehouse.duckdb');
  damageFile(path, damages.find(({ title }) => title.startsWith('is replaced')) as Damage, randomOf(1));
  const { code, text } = await patient.run('sync');
  expect(code).toBe(1);
  expect(text).toContain(path);
  expect(instructionsOf(text)).toEqual([`sightline restore ${join(patient.data, 'analytics.duckdb')} --force`]);
  rmSync(join(patient.data, 'analytics.duckdb'));
  expect(instructionsOf((await patient.run('sync')).text)).toEqual(['sightline replay']);
  // The other tables would stay empty.
  const part = await patient.run('replay', '--only', 'prompts');
  expect(part.code).toBe(1);
  expect(part.text).toContain('a replay must include all resources and days; run `sightline replay`');
  rmSync(join(patient.data, 'raw'), { recursive: true });
  const latest = join(patient.data, 'snapshots', 'latest');
  expect(instructionsOf((await patient.run('sync')).text)).toEqual([`sightline restore ${latest} --force`]);
  rmSync(join(patient.data, 'snapshots'), { recursive: true });
  const [move, sync] = instructionsOf((await patient.run('sync')).text);
  expect([move, sync]).toEqual([`mv ${path} ${path}.damaged`, 'sightline sync']);
});
