import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Layout, layoutOf } from '../../../src/publish/snapshot/layout.ts';
import type { Manifest } from '../../../src/publish/snapshot/manifest.ts';
import { openReader, type Reader } from '../../../src/warehouse/reader.ts';
import { openScratch } from '../../../src/warehouse/scratch.ts';
import { startChild } from '../../support/child.ts';
import { countOf } from '../../support/counts.ts';
import { createEmptyWarehouse } from '../../support/empty-warehouse.ts';
import { temporaryFolder } from '../../support/folders.ts';

const CHILD = new URL('publish-child.ts', import.meta.url);
const KILLS = countOf(1, 40);
const PUBLISHES = countOf(3, 100);
const WAIT_MAX_MS = 400;

test('a publish killed at any moment leaves a complete snapshot and replica, and the next one removes leftovers', async () => {
  const folder = await temporaryFolder();
  const layout = layoutOf(folder);
  await createEmptyWarehouse(layout.warehouse);
  for (let kill = 0; kill < KILLS; kill++) {
    const child = startChild(CHILD, folder, '0');
    expect(await child.message()).toBe('0');
    // Spreads the kills over a publish and the next one, however fast the machine is. Each commit has other moments.
    const moment = Number(process.env['PROPERTY_SEED']) + kill;
    await new Promise((resolve) => setTimeout(resolve, ((moment * 97) % WAIT_MAX_MS) + 1));
    await child.kill();
    const generation = await wholeSnapshot(layout);
    expect(await generationOf(layout.analytics)).toBeGreaterThanOrEqual(generation);
  }
  const last = startChild(CHILD, folder, '1');
  expect(await last.message()).toBe('0');
  await new Promise((resolve) => last.process.once('exit', resolve));
  expect((await readdir(layout.snapshots)).filter((name) => !isPublished(name))).toEqual([]);
  expect((await readdir(folder)).filter((name) => /\.new|^\./.test(name))).toEqual([]);
  await wholeSnapshot(layout);
});

test('readers never see a mix of two snapshots, can open the replica at any moment, and keep the one that they opened', async () => {
  const folder = await temporaryFolder();
  const layout = layoutOf(folder);
  await createEmptyWarehouse(layout.warehouse);
  const child = startChild(CHILD, folder, String(PUBLISHES));
  expect(await child.message()).toBe('0');
  const notebook = await openReader(layout.analytics);
  const opened = await generationIn(notebook);
  let publishing = true;
  child.process.once('exit', () => {
    publishing = false;
  });
  const goesOn = (): boolean => publishing;
  // Readers that follow the link once: test/publish/lake/publisher.test.ts.
  const read = await Promise.all([readCopy(layout, goesOn), readLatest(layout, goesOn)]);
  for (const generations of read) {
    expect([...generations].sort((a, b) => a - b)).toEqual(generations);
    expect(generations.length).toBeGreaterThan(PUBLISHES);
  }
  expect(await wholeSnapshot(layout)).toBe(PUBLISHES);
  expect(await generationIn(notebook)).toBe(opened);
  notebook.close();
});

// Opens the replica again and again.
async function readCopy({ analytics }: Layout, goesOn: () => boolean): Promise<number[]> {
  const generations: number[] = [];
  while (goesOn()) generations.push(await generationOf(analytics));
  return generations;
}

async function generationOf(analytics: string): Promise<number> {
  const reader = await openReader(analytics);
  try {
    return await generationIn(reader);
  } finally {
    reader.close();
  }
}

async function generationIn(reader: Reader): Promise<number> {
  const { rows } = await reader.query('SELECT min(CAST(prompt AS BIGINT)), max(CAST(prompt AS BIGINT)) FROM responses');
  const [least, most] = rows[0] as [number, number];
  expect(least).toBe(most);
  return least;
}

const SUMS = 'min(CAST(prompt AS BIGINT)) AS least, max(CAST(prompt AS BIGINT)) AS most, count(*) AS rows';

// Reads like a tool that uses the path `latest`. A complete result is from one snapshot. During a swap the read may
// fail, or miss files of the previous snapshot if the tool lists files before it opens them, as DuckDB does.
async function readLatest({ latest }: Layout, goesOn: () => boolean): Promise<number[]> {
  const scratch = await openScratch({ memoryLimitMb: 128, temporaryFolder: `${latest}-temporary` });
  onTestFinished(() => scratch.close());
  const whole: number[] = [];
  let incomplete = 0;
  while (goesOn()) {
    const read = scratch.all(`SELECT ${SUMS} FROM read_parquet('${latest}/responses/*/*.parquet')`);
    const [row] = await read.catch((thrown: Error) => {
      expect(String(thrown.cause)).toMatch(/No files found|No such file/);
      return [];
    });
    if (row !== undefined) expect(row['least']).toBe(row['most']);
    if (row?.['rows'] === 2000n) whole.push(Number(row['least']));
    else incomplete += 1;
  }
  expect(incomplete).toBeLessThan(whole.length / 4);
  return whole;
}

// Verifies every file of the latest snapshot and returns the generation of all of its rows.
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
