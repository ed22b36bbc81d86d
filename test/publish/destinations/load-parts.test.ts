import { expect, type TestContext, test } from 'vitest';
import { tableAt } from '../../../src/publish/destinations/kinds.ts';
import { IS_ENDURANCE } from '../../support/counts.ts';
import { expectEqual, idOf, openPlace as openAt, shareServers } from './places.ts';

/** Kinds that store the hashes of days, with times of their own types and as texts. */
const DAILY = ['duckdb', 'sqlite', 'ducklake', 'postgres', ...(IS_ENDURANCE ? (['mysql'] as const) : [])] as const;

const servers = shareServers();
const openPlace = (kind: (typeof DAILY)[number], context: TestContext) => openAt(kind, context, servers);

test.for(DAILY)(
  'a load into a destination of kind %s compares the days that changed, and all rows if the stored hashes do not apply',
  async (kind, context) => {
    const place = await openPlace(kind, context);
    const { schema } = place;
    const things = tableAt(schema, 'things');
    const where = (id: number): string => `WHERE id = '${idOf(id)}'`;
    const spoil = () => place.inDestination(`UPDATE ${things} SET words = 'spoilt', _hash = 0 ${where(9)}`);
    const spoilt = () => place.inDestination(`SELECT count(*) FROM ${things} WHERE words = 'spoilt'`);
    const days = Array.from(
      { length: 9 },
      (_, index) => `('${idOf(index + 1)}', TIMESTAMPTZ '2026-01-0${index + 1} 23:59:59.999999+00')`,
    );
    await place.change(`INSERT INTO things (id, "at") VALUES ${days.join(', ')}, ('${idOf(0)}', NULL)`);
    await place.load();
    await spoil();
    await place.change(
      `UPDATE things SET words = 'new' ${where(0)} OR id = '${idOf(1)}'`,
      `UPDATE things SET "at" = TIMESTAMPTZ '2026-01-03 00:00:00+00' ${where(2)}`,
    );
    expect(await place.load()).toMatchObject([{ rows: 10, inserted: 0, updated: 3, deleted: 0 }]);
    expect(await spoilt()).toEqual([[1n]]);
    // The day has fewer rows than the last load has written.
    await place.inDestination(`DELETE FROM ${things} ${where(1)}`);
    await place.change(`UPDATE things SET count = 1 ${where(1)}`, `DELETE FROM things ${where(4)}`);
    expect(await place.load()).toMatchObject([{ rows: 9, inserted: 1, updated: 1, deleted: 1 }]);
    await expectEqual(place);
    // Another load stored the hashes.
    await spoil();
    await place.inDestination(`UPDATE ${tableAt(schema, '_sightline_position')} SET identity = 'other'`);
    await place.change(`UPDATE things SET count = 2 ${where(1)}`);
    expect(await place.load()).toMatchObject([{ updated: 2 }]);
    await spoil();
    await place.load({ full: true });
    await expectEqual(place);
  },
);

test('a load writes nothing if rows of two days have one key', async (context) => {
  const place = await openPlace('duckdb', context);
  const days = Array.from({ length: 9 }, (_, index) => `('${idOf(index + 1)}', TIMESTAMPTZ '2026-01-0${index + 1}')`);
  await place.change(`INSERT INTO things (id, "at") VALUES ${days.join(', ')}`);
  await place.load();
  await place.change(`INSERT INTO things (id, "at") VALUES ('${idOf(1)}', TIMESTAMPTZ '2026-02-01')`);
  await expect(place.load()).rejects.toMatchObject({ message: expect.stringContaining('have equal keys') });
  expect(await place.loaded()).toHaveLength(9);
});
