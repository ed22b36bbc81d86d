// Publishes forever, with every month changed each time: `lake-child.ts folder location at`.
import { mkdtemp } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { createIcebergPublisher } from '../../src/lake/iceberg/iceberg-publisher.ts';
import { openFolderStore } from '../../src/storage/folder-store.ts';
import { stageTables } from './lake.ts';

const [folder = '', location = '', from = '0'] = process.argv.slice(3);
const { signal } = new AbortController();
const store = openFolderStore(dirname(folder), { folder: basename(folder), signal, location });
const keep = { daily: 1, weekly: 0, monthly: 0 };
const sending = join(dirname(folder), '.sending');
const options = { clock: systemClock, signal, keep, sending };
const columns = [
  { name: 'id', type: 'VARCHAR' },
  { name: 'created_at', type: 'TIMESTAMPTZ' },
  { name: 'n', type: 'BIGINT' },
];
for (let generation = 1; ; generation++) {
  const rows = (month: number): string =>
    `SELECT 'a' AS id, TIMESTAMP '2026-0${month}-01' AS created_at, CAST(${generation * 10} AS BIGINT) AS n`;
  const parts = { 'month=2026-01': rows(1), 'month=2026-02': rows(2) };
  const root = await mkdtemp(join(dirname(folder), 'child-'));
  const staged = await stageTables(root, Number(from) + generation, [
    { name: 'facts', time: 'created_at', columns, parts },
  ]);
  const publisher = createIcebergPublisher(store, options);
  await publisher.point(await publisher.put(staged));
  process.send?.(String(generation));
}
