import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { raiseFence } from '../../src/lake/fence.ts';
import { createIcebergPublisher } from '../../src/lake/iceberg/iceberg-publisher.ts';
import type { IcebergEngine } from '../../src/lake/iceberg/manifest-engine.ts';
import type { Manifest } from '../../src/snapshot/manifest.ts';
import type { StagedSnapshot } from '../../src/snapshot/publisher.ts';
import { openFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { skippingClock } from '../support/clocks.ts';
import { countOf } from '../support/counts.ts';
import { stageTables, stateOf, viewFolder } from './lake.ts';

const TABLES = ['facts', 'notes'] as const;
const DAY_MS = 24 * 3_600_000;
const START_MS = Math.floor(Date.now() / 1000) * 1000 - DAY_MS;
const KEEP = { daily: 100, weekly: 100, monthly: 100 };
const { signal } = new AbortController();
const clock = skippingClock();

/** Copies the rows unchanged, because these tests are only about the order in which metadata files appear. */
function copyingEngine(folder: string): IcebergEngine {
  let files = 0;
  return {
    write: async (_shape, columns, source) => {
      const file = join(folder, `${files++}-${Date.now()}.parquet`);
      await mkdir(folder, { recursive: true });
      await copyFile(source, file);
      expect(columns.length).toBe(1);
      return [{ path: file, file, rows: ROWS, bytes: (await stat(file)).size }];
    },
    close: async () => undefined,
  };
}
const ROWS = 3;
/** Every operation of the store fails once in `npm run test:endurance`, otherwise every fourth, beginning with another for each kind. */
const STEP = countOf(4, 1);

/** Stages both tables with different rows in each generation. */
async function stageGeneration(root: string, generation: number): Promise<StagedSnapshot> {
  const parts = { '': `SELECT ${generation * 10} + range AS n FROM range(${ROWS})` };
  const tables = TABLES.map((name) => ({ name, columns: [{ name: 'n', type: 'BIGINT' }], parts }));
  return stageTables(root, START_MS + generation * 60_000, tables);
}

function publisherTo(store: ObjectStore, sending: string, epoch: number | null = null) {
  const options = { clock, signal, keep: KEEP, sending, epoch };
  return createIcebergPublisher(store, { ...options, openEngine: copyingEngine });
}

/** Returns the snapshot ids that readers see: through `latest.json`, and through the table folders by each rule. */
function look(folder: string): { latest: string | null; folders: Set<string | null> } {
  const pointer = join(folder, 'latest.json');
  const latest = existsSync(pointer) ? readLatest(folder) : null;
  const views = TABLES.flatMap((table) => Object.values(viewFolder(folder, table)) as (string | null)[]);
  return { latest, folders: new Set(views) };
}

// Reads every table of the latest snapshot through its metadata file.
function readLatest(folder: string): string {
  const json = (key: string) => JSON.parse(readFileSync(join(folder, key), 'utf8'));
  const manifest = json(json('latest.json').manifest) as Manifest;
  for (const table of TABLES) {
    const { snapshots } = json(stateOf(manifest, table).metadata.path);
    expect(snapshots.at(-1).summary['sightline.snapshot']).toBe(manifest.id);
  }
  return manifest.id;
}

type Failure = 'before' | 'after' | 'dies before';

/** A store that fails at its n-th operation, once or from then on. `watch` is called after each operation. */
function failingStore(store: ObjectStore, at: number, failure: Failure, watch: () => void) {
  let operations = 0;
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    operations += 1;
    const dies = failure.startsWith('dies') && operations > at;
    if (dies || (operations === at && failure.endsWith('before'))) throw new Error('the store failed');
    const value = await work();
    watch();
    if (operations === at && failure.endsWith('after')) throw new Error('the response was lost');
    return value;
  };
  const failing: ObjectStore = {
    ...store,
    head: (key) => attempt(() => store.head(key)),
    read: (key) => attempt(() => store.read(key)),
    sendFile: (key, file) => attempt(() => store.sendFile(key, file)),
    create: (key, body) => attempt(() => store.create(key, body)),
    replace: (key, body, version) => attempt(() => store.replace(key, body, version)),
    list: async function* (prefix) {
      yield* await attempt(async () => {
        const keys = [];
        for await (const key of store.list(prefix)) keys.push(key);
        return keys;
      });
    },
  };
  return { failing, operations: () => operations };
}

describe('a publish of Iceberg tables', () => {
  let root = '';
  let before = '';
  let old = '';
  let next: StagedSnapshot;
  let last: StagedSnapshot;
  let trials = 0;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'sightline-commit-'));
    before = join(root, 'before');
    const first = await stageGeneration(root, 1);
    const publisher = publisherTo(openAt(before), join(root, '.sending'));
    await publisher.point(await publisher.put(first));
    old = first.manifest.id;
    next = await stageGeneration(root, 2);
    last = await stageGeneration(root, 3);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const openAt = (folder: string): ObjectStore =>
    openFolderStore(folder, { folder: '', signal, location: 's3://lake/' });
  /** Creates a separate lake in which the first snapshot is published. */
  const lakeOf = (from = before): { folder: string; store: ObjectStore } => {
    const folder = join(root, `trial-${trials++}`);
    cpSync(from, folder, { recursive: true, preserveTimestamps: true });
    return { folder, store: openAt(folder) };
  };
  const publishTo = async (store: ObjectStore, staged: StagedSnapshot, epoch: number | null = null) => {
    const publisher = publisherTo(store, join(root, '.sending'), epoch);
    return publisher.point(await publisher.put(staged));
  };
  const everywhere = (id: string) => ({ latest: id, folders: new Set([id]) });

  test('shows the same snapshot to all readers when it is done', async () => {
    expect(look(before)).toEqual(everywhere(old));
    const { folder, store } = lakeOf();
    expect(await publishTo(store, next)).toBe('moved');
    expect(look(folder)).toEqual(everywhere(next.manifest.id));
    expect(await publishTo(store, last)).toBe('moved');
    expect(look(folder)).toEqual(everywhere(last.manifest.id));
    const numbers = readdirSync(join(folder, 'tables/facts/metadata')).filter((name) => name.startsWith('v'));
    expect(numbers.sort()).toEqual(['v1.metadata.json', 'v2.metadata.json', 'v3.metadata.json', 'version-hint.text']);
  });

  test.each([
    { failure: 'before', first: 0 },
    { failure: 'after', first: 1 },
    { failure: 'dies before', first: 2 },
  ] as const)(
    'that fails at any operation of the store ($failure it) never shows uncommitted data',
    async ({ failure, first }) => {
      let [committed, failed] = [0, 0];
      for (let at = 1 + first; ; at += STEP) {
        const { folder, store } = lakeOf();
        const id = next.manifest.id;
        const check = (): void => {
          const { latest, folders } = look(folder);
          expect([old, id]).toContain(latest);
          for (const seen of folders) expect(latest === old ? [old] : [old, id]).toContain(seen);
        };
        const { failing, operations } = failingStore(store, at, failure, check);
        const result = await publishTo(failing, next).catch((thrown: Error) => thrown.message);
        if (operations() < at) break;
        check();
        failed += result === 'moved' ? 0 : 1;
        if (look(folder).latest === id) committed += 1;
        // After any failure, the next retention shows the committed snapshot and the next publish shows its own.
        if (at % 3 === 0) {
          await publisherTo(store, join(root, '.sending')).retain(KEEP, Date.now());
          expect(look(folder).folders).toEqual(new Set([look(folder).latest]));
        }
        if (at % 3 !== 1) {
          await publishTo(store, last);
          expect(look(folder)).toEqual(everywhere(last.manifest.id));
        }
        await rm(folder, { recursive: true });
      }
      // Both outcomes must have occurred.
      expect([committed > 0, failed > 1]).toEqual([true, true]);
    },
  );

  test('with a stale fencing token shows nothing to readers of folders', async () => {
    const { folder, store } = lakeOf();
    await raiseFence(store, 5, clock, signal);
    await expect(publishTo(store, next, 4)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(look(folder)).toEqual(everywhere(old));
    expect(await publishTo(store, last, 5)).toBe('moved');
    expect(look(folder)).toEqual(everywhere(last.manifest.id));
  });

  test('is numbered in the order of commits if several run at the same time', async () => {
    const staged = await Promise.all([4, 5, 6, 7].map((generation) => stageGeneration(root, generation)));
    const { folder, store } = lakeOf();
    const publishers = staged.map(() => publisherTo(store, join(root, '.sending')));
    const placed = await Promise.all(
      publishers.map((publisher, index) => publisher.put(staged[index] as StagedSnapshot)),
    );
    await Promise.all(publishers.map((publisher, index) => publisher.point(placed[index] as (typeof placed)[0])));
    expect(look(folder)).toEqual(everywhere(staged[3]?.manifest.id ?? ''));
    for (const table of TABLES) {
      const metadata = join(folder, 'tables', table, 'metadata');
      const ids: string[] = [];
      for (let number = 1; existsSync(join(metadata, `v${number}.metadata.json`)); number++) {
        const { snapshots } = JSON.parse(readFileSync(join(metadata, `v${number}.metadata.json`), 'utf8'));
        ids.push(snapshots.at(-1).summary['sightline.snapshot']);
      }
      expect(ids).toEqual([...new Set(ids)].sort());
    }
  });

  test('keeps numbered metadata for a day after the next number, and the newest as long as its table exists', async () => {
    const { folder, store } = lakeOf();
    await publishTo(store, next);
    await publishTo(store, last);
    const keep = { daily: 1, weekly: 0, monthly: 0 };
    const files = (): string[] =>
      readdirSync(join(folder, 'tables/facts/metadata'))
        .filter((name) => /^v/.test(name))
        .sort();
    expect(files()).toHaveLength(4);
    const publisher = publisherTo(store, join(root, '.sending'));
    await publisher.retain(keep, Date.now());
    expect(files()).toHaveLength(4);
    for (let day = 1; day <= 3; day++) await publisher.retain(keep, Date.now() + day * (DAY_MS + 60_000));
    expect(files()).toEqual(['v3.metadata.json', 'version-hint.text']);
    expect(look(folder)).toEqual(everywhere(last.manifest.id));
    expect(readdirSync(join(folder, 'tables/facts/catalog'))).toHaveLength(1);
  });
});
