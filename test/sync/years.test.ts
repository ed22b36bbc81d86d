import { expect, test } from 'vitest';
import { readContext } from '../../src/sync/run-context.ts';
import { openWorkspace } from '../support/workspace.ts';

const BRAND = '00000000-0000-4000-8000-000000000001';

test('a plan reads all earlier slices only of resources that need every one of them', async () => {
  const { catalogue, clock, warehouse } = await openWorkspace({ brands: 1 });
  const { database } = warehouse();
  const context = async () =>
    readContext(
      { catalogue, connections: 8, warehouse: warehouse() },
      { only: null, range: null, brands: null },
      null,
      clock.now(),
    );
  const ranged = catalogue.resources.filter(({ query }) => query['from'] !== undefined).map(({ name }) => name);
  // For each of three years' days, a slice of every resource for a range that ends on the day and one for the day
  // alone; each was read on its last day.
  const insert = `INSERT INTO sync.coverage SELECT concat(name, ' ', range_from, '..', range_to), name,
     CAST('${BRAND}' AS UUID), range_from, range_to, uuid(), uuid(), range_to + INTERVAL 12 HOUR, 1, NULL
   FROM (SELECT name, CAST(d AS DATE) - age AS range_from, CAST(d AS DATE) AS range_to FROM (SELECT unnest($1) AS name),
     (SELECT unnest([0, 29]) AS age), range(TIMESTAMP '2023-03-01', TIMESTAMP '2026-03-01', INTERVAL 1 DAY) t(d))`;
  await database.exclusive((session) => session.run(insert, [ranged]));
  const { covered } = await context();
  const days = new Map(ranged.map((name) => [name, covered.days(name, BRAND).size]));
  for (const resource of catalogue.resources.filter(({ name }) => ranged.includes(name))) {
    const { change, name } = resource;
    if (change.kind === 'window') expect(days.get(name), name).toBeGreaterThan(1_000);
    else expect(days.get(name), name).toBeLessThan(40);
  }
});
