import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { readConventions } from '../../src/analytics/calibration/findings.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import type { Query } from '../../src/warehouse/database.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

test('stored conventions override the defaults, and invalid ones are ignored', async () => {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const { database } = await openWarehouse(path, createCatalogue(declarations), {});
  const run = (sql: string) => database.exclusive((session) => session.run(sql));
  const query: Query = async (sql) =>
    (await database.exclusive((session) => session.all(sql))).map((row) => Object.values(row));
  const store = async (name: string, value: string | null): Promise<void> => {
    const json = value === null ? 'NULL' : `'${value}'`;
    await run(
      `INSERT INTO sync.calibration BY NAME SELECT '${name}' AS name, ${json} AS value, 'learned' AS source, 9 AS compared, 9 AS agreed,
         0 AS largest_error, 'note' AS note, now()::TIMESTAMP AS decided_at`,
    );
  };
  expect(await readConventions(query)).toEqual(defaultConventions);

  const form = { whole: 1, decimals: null, mode: 'down' } as const;
  await store('visibility', JSON.stringify(form));
  await store('emptyShare', 'null');
  await store('labels', '{"a": 1.5, "__proto__": 2}');
  await store('emptyDays', '"sometimes"');
  await store('shareOfVoice', '{"whole": 10, "decimals": 1, "mode": "half-away"}');
  await store('topCompetitors', null);
  await store('nobody knows', '1');
  await store('__proto__', '{"visibility": 1}');
  const read = await readConventions(query);
  const { labels, ...others } = read;
  const { labels: _, ...defaults } = defaultConventions;
  expect(others).toEqual({ ...defaults, visibility: form, emptyShare: null });
  expect(labels['a']).toBe(1.5);

  // A replica written by an older version lacks the table.
  await run('DROP TABLE sync.calibration');
  expect(await readConventions(query)).toEqual(defaultConventions);
  await database.close();
});
