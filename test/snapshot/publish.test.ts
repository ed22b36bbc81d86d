import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Layout, layoutOf } from '../../src/snapshot/layout.ts';
import type { Manifest } from '../../src/snapshot/manifest.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { openScratch } from '../../src/warehouse/scratch.ts';
import { startChild } from '../support/child.ts';
import { temporaryFolder } from '../support/folders.ts';

const CHILD = new URL('publish-child.ts', import.meta.url);
/** How often, for a run that is to take its time: SIGHTLINE_TEST_KILLS=100 SIGHTLINE_TEST_PUBLISHES=200. */
const KILLS = Number(process.env['SIGHTLINE_TEST_KILLS'] ?? 3);
const PUBLISHES = Number(process.env['SIGHTLINE_TEST_PUBLISHES'] ?? 8);
const WAIT_MAX_MS = 400;

test(
  'a publish that is killed at any moment leaves a whole snapshot and a whole copy, and the next one no litter',
  async () => {
    const folder = await temporaryFolder();
    const layout = layoutOf(folder);
    let litter = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startChild(CHILD, folder, '0');
      expect(await child.message()).toBe('0');
      // Spread over a publish and the next one, whatever the machine's pace.
      await new Promise((resolve) => setTimeout(resolve, ((kill * 97) % WAIT_MAX_MS) + 1));
      await child.kill();
      const generation = await wholeSnapshot(layout);
      expect(await generationOf(layout.analytics)).toBeGreaterThanOrEqual(generation);
      const found = (await readdir(layout.snapshots)).filter((name) => !isPublished(name));
      litter += found.length;
    }
    const last = startChild(CHILD, folder, '1');
    expect(await last.message()).toBe('0');
    await new Promise((resolve) => last.process.once('exit', resolve));
    expect((await readdir(layout.snapshots)).filter((name) => !isPublished(name))).toEqual([]);
    expect((await readdir(folder)).filter((name) => /\.new|^\./.test(name))).toEqual([]);
    await wholeSnapshot(layout);
    if (KILLS >= 50) expect(litter).toBeGreaterThan(0);
  },
  60_000 + KILLS * 10_000,
);

test(
  'readers never see two snapshots at once, and can open the copy at any moment',
  async () => {
    const folder = await temporaryFolder();
    const layout = layoutOf(folder);
    const child = startChild(CHILD, folder, String(PUBLISHES));
    expect(await child.message()).toBe('0');
    let publishing = true;
    child.process.once('exit', () => {
      publishing = false;
    });
    const opened = readCopy(layout, () => publishing);
    const read = readLatest(layout, () => publishing);
    const generations = await opened;
    expect([...generations].sort((a, b) => a - b)).toEqual(generations);
    expect(generations.length).toBeGreaterThan(PUBLISHES);
    const { whole, failed } = await read;
    expect(whole.length).toBeGreaterThan(PUBLISHES);
    expect([...whole].sort((a, b) => a - b)).toEqual(whole);
    expect(await wholeSnapshot(layout)).toBe(PUBLISHES);
    if (PUBLISHES > 100) process.stdout.write(`${whole.length} reads through latest, ${failed} repeated\n`);
  },
  60_000 + PUBLISHES * 5_000,
);

// The copy, opened anew each time.
async function readCopy({ analytics }: Layout, goesOn: () => boolean): Promise<number[]> {
  const generations: number[] = [];
  while (goesOn()) generations.push(await generationOf(analytics));
  return generations;
}

async function generationOf(analytics: string): Promise<number> {
  const reader = await openReader(analytics);
  try {
    const { rows } = await reader.query(
      'SELECT min(CAST(prompt AS BIGINT)), max(CAST(prompt AS BIGINT)) FROM responses',
    );
    const [least, most] = rows[0] as [number, number];
    expect(least).toBe(most);
    return least;
  } finally {
    reader.close();
  }
}

// As a tool does that was given the folder of a table: a read that fails is made once more, and then must not fail.
async function readLatest({ latest }: Layout, goesOn: () => boolean): Promise<{ whole: number[]; failed: number }> {
  const scratch = await openScratch({ memoryLimitMb: 128, temporaryFolder: `${latest}-temporary` });
  onTestFinished(() => scratch.close());
  const source = `read_parquet('${latest}/responses/*/*.parquet')`;
  const whole: number[] = [];
  let failed = 0;
  const read = () =>
    scratch.all(`SELECT min(CAST(prompt AS BIGINT)) AS least, max(CAST(prompt AS BIGINT)) AS most,
      count(*) AS rows, count(DISTINCT month) AS months FROM ${source}`);
  while (goesOn()) {
    const rows = await read().catch((thrown: Error) => {
      expect(thrown.message).toMatch(/No files found|No such file/);
      failed += 1;
      return read();
    });
    const [row] = rows;
    expect(row).toMatchObject({ rows: 2000n, months: 3n });
    expect(row?.['least']).toBe(row?.['most']);
    whole.push(Number(row?.['least']));
  }
  return { whole, failed };
}

// What `latest` points to, file by file; the number that all of its rows have.
async function wholeSnapshot({ latest }: Layout): Promise<number> {
  const manifest = JSON.parse(await readFile(join(latest, 'manifest.json'), 'utf8')) as Manifest;
  expect(manifest.id).toBe(await readlink(latest));
  for (const file of manifest.tables.flatMap(({ files }) => files)) {
    const bytes = readFileSync(join(latest, file.path));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
  }
  const scratch = await openScratch({ memoryLimitMb: 128, temporaryFolder: `${latest}-temporary` });
  const rows = await scratch.all(`SELECT DISTINCT CAST(prompt AS BIGINT) AS generation
    FROM read_parquet('${latest}/responses/*/*.parquet') UNION SELECT CAST(headline AS BIGINT)
    FROM read_parquet('${latest}/alerts/*.parquet')`);
  scratch.close();
  expect(rows.length).toBe(1);
  return Number(rows[0]?.['generation']);
}

function isPublished(name: string): boolean {
  return name === 'latest' || /^\d{8}T\d{6}Z(-\d+)?$/.test(name);
}
