import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, type TestContext, test } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createHomeDriver, type HomeGrant } from '../../src/workspace/home-driver.ts';
import { atHome, keptFiles, makeEqual, readHome } from '../../src/workspace/home-folder.ts';
import { HOME_KINDS, openTarget } from '../publish/destinations/places.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';

const HISTORIES = countOf(1, 6);
const KILLS = countOf(2, 20);
/** The bytes of a DuckDB file's headers and of a block. */
const [HEADERS, BLOCK] = [12_288, 262_144];

type Config = Parameters<typeof createHomeDriver>[0]['config'];

/** A home of one workspace, and machines that share nothing else; `now` is the time that the clocks of all show. */
type Rig = Awaited<ReturnType<typeof openRig>>;
type Machine = Awaited<ReturnType<Rig['machine']>>;

async function openRig(kind: (typeof HOME_KINDS)[number], context: TestContext) {
  const { target, extensions } = await openTarget(kind, context);
  const rig = { now: Date.parse('2026-03-01T00:00:00Z'), machine: async () => open() };
  // Nothing is saved unless a test does it.
  const sleep: Clock['sleep'] = (ms, signal) =>
    ms < 60_000
      ? Promise.resolve()
      : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  const clock: Clock = { ...systemClock, now: () => rig.now, sleep };
  const open = async () => {
    const folder = await temporaryFolder();
    const publish = { kind: 'folder' } as const;
    const config: Config = { name: 'acme', folder, home: 'h', destination: () => target, extensions, publish };
    const { signal } = new AbortController();
    return {
      config,
      take: async (task: string | null = null): Promise<HomeGrant> => {
        const request = { folder, mode: 'wait', command: 'sync', description: 'sync', signal, onWait: () => undefined };
        return createHomeDriver({ config, clock, task }).acquire({ ...request, mode: 'wait' });
      },
      write: async (files: Readonly<Record<string, Buffer>>) => {
        for (const [name, body] of Object.entries(files)) await writeFile(join(folder, name), body);
      },
      /** Digests of the kept files by name. */
      digests: async () => {
        const found: Record<string, string> = {};
        for (const { name, path } of keptFiles(folder))
          if (existsSync(path))
            found[name] = createHash('sha256')
              .update(await readFile(path))
              .digest('hex');
        return found;
      },
    };
  };
  return rig;
}

const WAREHOUSE = 'warehouse.duckdb';

// A machine of the history starts several processes.
describe.each(sampleOf(HOME_KINDS, 1, 2))('a home in %s', (kind) => {
  test(`gives the next machine the files of the last save, byte by byte: ${HISTORIES} histories`, async (context) => {
    const blocks = fc.array(fc.record({ at: fc.nat(70), seed: fc.nat(250) }), { maxLength: 6 });
    const step = fc.record({
      size: fc.constantFrom(0, 1, HEADERS, HEADERS + 1, HEADERS + BLOCK, HEADERS + 3 * BLOCK + 7, HEADERS + 68 * BLOCK),
      blocks,
      log: fc.constantFrom(null, 0, 300_000),
      jobs: fc.constantFrom(null, '', '{"version":1}'),
      // What follows the save: nothing, more writes that are not saved, or the death of the machine.
      end: fc.constantFrom('release', 'die'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: countOf(2, 4) }), async (steps) => {
        const rig = await openRig(kind, context);
        let expected: Record<string, string> = {};
        let body = Buffer.alloc(0);
        for (const { size, blocks: changed, log, jobs, end } of steps) {
          const machine = await rig.machine();
          const grant = await machine.take('task');
          expect(await machine.digests()).toEqual(expected);
          body = Buffer.concat([body, Buffer.alloc(size)]).subarray(0, size);
          for (const { at, seed } of changed)
            body.fill(seed, Math.min(at * BLOCK, size), Math.min(at * BLOCK + 1_000, size));
          for (const { path } of keptFiles(machine.config.folder)) await rm(path, { force: true });
          await machine.write({
            [WAREHOUSE]: body,
            ...(log === null ? {} : { [`${WAREHOUSE}.wal`]: Buffer.alloc(log, 7) }),
            ...(jobs === null ? {} : { 'jobs.json': Buffer.from(jobs) }),
          });
          expected = await machine.digests();
          if (end === 'release') await grant.release();
          else {
            await grant.home.save();
            await machine.write({ [WAREHOUSE]: randomBytes(100) });
          }
        }
        const last = await rig.machine();
        await last.take('task');
        expect(await last.digests()).toEqual(expected);
        expect((await readdir(last.config.folder)).sort()).toEqual([...Object.keys(expected), 'home.json'].sort());
      }),
      { numRuns: HISTORIES, endOnFailure: true },
    );
  });
});

describe.each(sampleOf(['postgres', 'duckdb'] as const, 1))('a home in %s', (kind) => {
  test('gives the lease to one machine, and fences one that lost it', async (context) => {
    const rig = await openRig(kind, context);
    const [one, two] = [await rig.machine(), await rig.machine()];
    const paused = await one.take('task 1');
    await one.write({ [WAREHOUSE]: Buffer.from('one') });
    await paused.home.save();
    const message =
      /^workspace acme in destination h is in use by `sightline sync` on .* until 2026-03-01T00:06:00.000Z$/;
    await expect(two.take('task 2')).rejects.toMatchObject({
      code: 'warehouse_locked',
      message: expect.stringMatching(message),
    });
    // The same task of a queue takes it at once, every other one after it has expired.
    const next = await two.take('task 1');
    expect(next.epoch).toBeGreaterThan(paused.epoch);
    await two.write({ [WAREHOUSE]: Buffer.from('two') });
    await one.write({ [WAREHOUSE]: Buffer.from('one, later') });
    await expect(paused.home.save()).rejects.toMatchObject({ code: 'lease_lost' });
    expect(paused.lost.reason).toMatchObject({ code: 'lease_lost', message: expect.stringContaining('took it over') });
    await expect(paused.release()).rejects.toMatchObject({ code: 'lease_lost' });
    await next.home.save();
    rig.now += 6 * 60_000;
    // The folder of the first machine is a copy, so what it did not save is replaced.
    await one.take();
    expect(await readFile(join(one.config.folder, WAREHOUSE), 'utf8')).toBe('two');
    await expect(next.home.save()).rejects.toMatchObject({ code: 'lease_lost' });
  });

  test(`has the state before or after a save that is killed: ${KILLS} kills`, async (context) => {
    const rig = await openRig(kind, context);
    const one = await rig.machine();
    const { home, epoch: position } = await one.take('task');
    await one.write({ [WAREHOUSE]: randomBytes(HEADERS + 20 * BLOCK) });
    await home.save();
    let [before, killed] = [await one.digests(), 0];
    for (let round = 0; round < KILLS; round++) {
      await one.write({ [WAREHOUSE]: randomBytes(HEADERS + 20 * BLOCK) });
      const stop = new AbortController();
      const files = keptFiles(one.config.folder);
      const work = { do: 'save', position, files, now: rig.now, until: rig.now + 60_000 } as const;
      // The commit comes soon after the files are read.
      const saved = atHome(one.config, work, stop.signal, () =>
        setTimeout(() => stop.abort(new Error('killed')), round * 37),
      ).catch(() => null);
      if ((await saved) === null) killed += 1;
      const two = await rig.machine();
      await makeEqual(
        two.config,
        await readHome(two.config, new AbortController().signal),
        new AbortController().signal,
      );
      const [found, now] = [await two.digests(), await one.digests()];
      expect([before, now]).toContainEqual(found);
      before = found;
    }
    expect(killed).toBeGreaterThan(0);
  });
});

describe('a folder and its home', () => {
  const rigs = async (context: TestContext): Promise<{ rig: Rig; one: Machine }> => {
    const rig = await openRig('duckdb', context);
    const one = await rig.machine();
    return { rig, one };
  };
  const save = async (machine: Machine, text: string): Promise<void> => {
    const grant = await machine.take();
    await machine.write({ [WAREHOUSE]: Buffer.from(text) });
    await grant.release();
  };
  const mark = (machine: Machine, change: object | string): Promise<void> =>
    writeFile(
      join(machine.config.folder, 'home.json'),
      typeof change === 'string' ? change : JSON.stringify({ home: 'h', savedAt: null, ...change }),
    );

  test('are not replaced by each other if both have data of their own', async (context) => {
    const { rig, one } = await rigs(context);
    await save(one, 'one');
    const two = await rig.machine();
    await two.write({ [WAREHOUSE]: Buffer.from('own') });
    const refused = {
      code: 'home_conflict',
      message: expect.stringContaining('is not a copy of workspace acme in destination h'),
    };
    await expect(two.take()).rejects.toMatchObject(refused);
    expect(await readFile(join(two.config.folder, WAREHOUSE), 'utf8')).toBe('own');
    // The lease is free again. A copy of a later state than the home has, such as after the home was restored from a backup.
    await mark(two, { savedAt: '2027-01-01T00:00:00.000Z' });
    await expect(two.take()).rejects.toMatchObject(refused);
    // A copy of another home, and one that is incomplete, are replaced.
    for (const change of [{ home: 'other', savedAt: '2027-01-01T00:00:00.000Z' }, {}]) {
      await two.write({ [WAREHOUSE]: Buffer.from('own') });
      await mark(two, change);
      await (await two.take()).release();
      expect(await readFile(join(two.config.folder, WAREHOUSE), 'utf8')).toBe('one');
    }
  });

  test('start with the data of the folder if the home is empty, but not with a copy of what it had', async (context) => {
    const { one } = await rigs(context);
    await save(one, 'first');
    await rm((one.config.destination('h') as { path: string }).path);
    const message = expect.stringMatching(/has no data of workspace acme.*remove .*home\.json to start with the copy/);
    await expect(one.take()).rejects.toMatchObject({ code: 'home_conflict', message });
    await rm(join(one.config.folder, 'home.json'));
    await (await one.take()).release();
    expect(await readFile(join(one.config.folder, WAREHOUSE), 'utf8')).toBe('first');
  });

  test('are refused if the mark or a block is damaged', async (context) => {
    const { rig, one } = await rigs(context);
    await save(one, 'one');
    await mark(one, '{');
    await expect(one.take()).rejects.toMatchObject({
      code: 'home_conflict',
      message: expect.stringContaining('is damaged'),
    });
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const instance = await DuckDBInstance.create((one.config.destination('h') as { path: string }).path);
    const connection = await instance.connect();
    await connection.run("UPDATE sightline._sightline_blocks SET data = 'two'::BLOB");
    connection.closeSync();
    instance.closeSync();
    const two = await rig.machine();
    const message =
      'destination h: block 0 of warehouse.duckdb of workspace acme is damaged or missing in the destination';
    await expect(two.take()).rejects.toMatchObject({ code: 'destination_failed', message });
    expect(await readdir(two.config.folder)).toEqual([]);
  });
});
