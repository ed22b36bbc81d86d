import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { tableAt } from '../../../src/publish/destinations/kinds.ts';
import { countOf, IS_ENDURANCE } from '../../support/counts.ts';
import { queryAt } from '../../support/postgres.ts';
import { smallDisk } from '../../support/small-disk.ts';
import { postgresFor } from '../../support/test-postgres.ts';
import { commitsApart } from './apart-catalog.ts';
import { expectEqual, idOf, KINDS, openPlace as openAt, type Place, shareServers, TABLE } from './places.ts';

const LOADS = countOf(2, 20);
const KILLS = countOf(2, 20);
/** Rows of a load that is killed, and of loads at the same time. */
const MANY = countOf(5_000, 20_000);
/** Size of a disk that becomes full. */
const DISK_BYTES = 64_000_000;
/** Loads at the same time. */
const CROWD = countOf(2, 3);
/** Loads that fail between two tables. */
const ROUNDS = countOf(2, 20);
/** Kinds that differ in how columns are changed: in SQL of their own, without a type for some kinds, and outside of the transaction. */
const ALTERING: readonly string[] = IS_ENDURANCE
  ? KINDS.filter((kind) => kind !== 'ducklake in postgres')
  : ['postgres', 'sqlite', 'mysql', 'iceberg'];
/** Kinds with their own form of commit: a server, a lake with files, and a catalog of tables. */
const COMMITTING: readonly string[] = IS_ENDURANCE ? KINDS : ['postgres', 'ducklake in postgres', 'iceberg'];
/** Kinds with a schema for each workspace: a file, and a server with its own SQL. */
const DIVIDED = IS_ENDURANCE ? KINDS.filter((kind) => kind !== 'sqlite') : (['duckdb', 'postgres'] as const);
/** Kinds of servers with databases. */
const SERVERS = ['postgres', 'mysql'] as const;
/** Kinds that write files. */
const FILES = ['duckdb', 'sqlite', 'ducklake'] as const;

const servers = shareServers();
const openPlace = (kind: (typeof KINDS)[number], context: TestContext, disk?: string): Promise<Place> =>
  openAt(kind, context, servers, disk);

/** A row of the source: its key is one of a few, so that rows are inserted, changed and deleted. */
const row = fc.record({
  id: fc.integer({ min: 0, max: 7 }),
  part: fc.constantFrom(null, '', 'a', 'ä,1:b'),
  // Every text is JSON too.
  words: fc.option(
    fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom("it's", '\u0000', 'a\u0000b', '2:ab', 'x'.repeat(70_000))),
  ),
  count: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  share: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  is_live: fc.option(fc.boolean()),
  at: fc.option(
    fc.date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2200-01-01T00:00:00Z'), noInvalidDate: true }),
  ),
  more: fc.option(fc.json()),
});
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;

const rows = fc.uniqueArray(row, { selector: ({ id, part }) => `${id} ${part}`, maxLength: 12 });

function urlOf({ target }: Place): URL {
  return new URL('url' in target ? target.url : '');
}

/** SQL of a text with any characters. */
function textOf(value: string | null): string {
  if (value === null) return 'NULL';
  return value
    .split('\u0000')
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(' || chr(0) || ');
}

function valuesOf({ id, part, words, count, share, is_live, at, more }: Row): string {
  const time = at === null ? 'NULL' : `TIMESTAMPTZ '${at.toISOString()}'`;
  return `('${idOf(id)}', ${textOf(part)}, ${textOf(words)}, ${count ?? 'NULL'}, ${share === null ? 'NULL' : `CAST('${share}' AS DOUBLE)`}, ${is_live ?? 'NULL'},
    ${time}, ${at === null ? 'NULL' : `DATE '${at.toISOString().slice(0, 10)}'`}, ${textOf(more)})`;
}

function replaced(given: readonly Row[]): string[] {
  const values = given.map(valuesOf).join(', ');
  return ['DELETE FROM things', ...(given.length === 0 ? [] : [`INSERT INTO things VALUES ${values}`])];
}

describe.each(KINDS)('a destination of kind %s', (kind) => {
  test('has nothing after a dry run, and the rows of the source after every load of a random history', async (context) => {
    const place = await openPlace(kind, context);
    await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}')`);
    expect(await place.load({ dryRun: true })).toMatchObject([{ rows: 1, inserted: 1 }]);
    expect(await readdir(place.folder)).toEqual(['replica.duckdb']);
    expect(await place.exists()).toBe(false);
    await place.change('DELETE FROM things');
    const histories = fc.sample(rows, { numRuns: LOADS, seed: fc.readConfigureGlobal().seed ?? 0 });
    for (const given of histories) {
      const before = new Map((await place.source()).map((values) => [`${values[0]} ${values[1]}`, String(values)]));
      await place.change(...replaced(given));
      const after = new Map((await place.source()).map((values) => [`${values[0]} ${values[1]}`, String(values)]));
      const loaded = await place.load();
      await expectEqual(place);
      const updated = [...after].filter(([key, values]) => before.has(key) && before.get(key) !== values).length;
      const inserted = [...after.keys()].filter((key) => !before.has(key)).length;
      const deleted = [...before.keys()].filter((key) => !after.has(key)).length;
      expect(loaded).toEqual([{ name: 'things', rows: after.size, inserted, updated, deleted }]);
    }
    expect(await place.load()).toBeNull();
    // Another workspace has its own rows.
    await place.change('DELETE FROM things');
    await place.load({ workspace: 'other' });
    expect(await place.loaded()).toHaveLength(histories.at(-1)?.length ?? 0);
  });
});

// Both kinds of catalogs have the same tables.
describe.each(KINDS.filter((kind) => ALTERING.includes(kind)))('a table in a destination of kind %s', (kind) => {
  test('gets new columns, and removed columns again', async (context) => {
    const place = await openPlace(kind, context);
    const listed = [1, 2, 3].map((number) => `('${idOf(number)}', 'word ${number}')`);
    await place.change(`INSERT INTO things (id, words) VALUES ${listed.join(', ')}`);
    await place.load();
    const wider = { ...TABLE, columns: [...TABLE.columns, { name: 'extra', kind: 'text', about: 'New.' } as const] };
    await place.change(
      'ALTER TABLE things ADD COLUMN extra VARCHAR',
      `UPDATE things SET extra = 'new' WHERE id = '${idOf(2)}'`,
    );
    expect(await place.load({ tables: [wider] })).toMatchObject([{ inserted: 0, updated: 1 }]);
    await expectEqual(place, wider);
    const { schema } = place;
    await place.inDestination(`ALTER TABLE ${tableAt(schema, 'things')} DROP COLUMN words`);
    await place.change(
      `UPDATE things SET count = 1 WHERE id = '${idOf(1)}'`,
      `DELETE FROM things WHERE id = '${idOf(3)}'`,
    );
    await place.load({ tables: [wider], workspace: 'other' });
    await place.load({ tables: [wider] });
    await expectEqual(place, wider);
    await place.inDestination(`DROP TABLE ${tableAt(schema, 'things')}`);
    expect(await place.load({ tables: [wider] })).toMatchObject([{ inserted: 2 }]);
    await expectEqual(place, wider);
  });

  test('has every value after a column got another type, and columns with names that the database uses', async (context) => {
    const place = await openPlace(kind, context);
    await place.change(
      `INSERT INTO things (id, count, day) VALUES ('${idOf(1)}', 1, DATE '2026-01-01'), ('${idOf(2)}', 2, NULL)`,
    );
    await place.load();
    const kinds = { count: 'number', day: 'text' } as const;
    const retyped = TABLE.columns.map((column) => ({
      ...column,
      kind: kinds[column.name as 'count'] ?? column.kind,
    }));
    const names = ['rowid', 'workspace', 'xmin'].map((name) => ({ name, kind: 'text', about: 'Odd.' }) as const);
    const odd = { ...TABLE, columns: [...retyped, ...names] };
    await place.change(
      'ALTER TABLE things ALTER count TYPE DOUBLE',
      'ALTER TABLE things ALTER day TYPE VARCHAR',
      `UPDATE things SET count = 1.5, day = 'soon' WHERE id = '${idOf(1)}'`,
      ...names.map(({ name }) => `ALTER TABLE things ADD COLUMN ${name} VARCHAR DEFAULT 'own ${name}'`),
    );
    expect(await place.load({ tables: [odd] })).toMatchObject([{ rows: 2, updated: 2 }]);
    await expectEqual(place, { ...TABLE, columns: retyped });
    const table = tableAt(place.schema, 'things');
    expect(await place.inDestination(`SELECT DISTINCT workspace, rowid_, workspace_, xmin_ FROM ${table}`)).toEqual([
      ['acme', 'own rowid', 'own workspace', 'own xmin'],
    ]);
    expect(await place.load({ tables: [odd] })).toBeNull();
  });
});

describe.each(DIVIDED)('workspaces in a destination of kind %s', (kind) => {
  test('have schemas of their own and shared tables, also after the setting has changed', async (context) => {
    const place = await openPlace(kind, context);
    const tables = [TABLE, { ...TABLE, name: 'figures', isShared: true }];
    const divided = { tables, target: { ...place.target, schemaPerWorkspace: true } };
    const workspacesIn = async (within: string, table: string): Promise<unknown[]> =>
      (await place.inDestination(`SELECT workspace FROM ${tableAt(within, table)} ORDER BY ALL`)).flat();
    await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}')`);
    await place.load({ tables });
    await place.load({ ...divided, workspace: 'other' });
    const { schema } = place;
    expect(await workspacesIn(schema, 'things')).toEqual(['acme']);
    expect(await workspacesIn(`${schema}_other`, 'things')).toEqual(['other']);
    expect(await workspacesIn(schema, 'figures')).toEqual(['acme', 'other']);
    expect(await place.load(divided)).toMatchObject([
      { name: 'things', inserted: 1 },
      { name: 'figures', inserted: 0, deleted: 0 },
      { name: 'things', deleted: 1 },
    ]);
    expect(await place.load(divided)).toBeNull();
    expect(await workspacesIn(schema, 'things')).toEqual([]);
    expect(await workspacesIn(`${schema}_acme`, 'things')).toEqual(['acme']);
    expect(await workspacesIn(schema, 'figures')).toEqual(['acme', 'other']);
  });
});

describe.each(KINDS.filter((kind) => COMMITTING.includes(kind)))('a load into a destination of kind %s', (kind) => {
  test('is wholly old or wholly new after a kill, and exact after the next load', async (context) => {
    const place = await openPlace(kind, context);
    const fill = (text: string): string[] => [
      'DELETE FROM things',
      `INSERT INTO things (id, words) SELECT gen_random_uuid(), '${text} ' || range FROM range(${MANY})`,
    ];
    await place.change(...fill('first'));
    const startedAt = performance.now();
    await place.loadApart();
    const tookMs = performance.now() - startedAt;
    let before = await place.source();
    for (let kill = 1; kill <= KILLS; kill++) {
      await place.change(...fill(`kill ${kill}`));
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(new Error('killed')), (tookMs * kill) / KILLS);
      const ended = await place.loadApart(stop.signal).then(
        () => 'complete',
        () => 'killed',
      );
      clearTimeout(timer);
      const found = JSON.stringify(await place.loaded());
      const after = await place.source();
      if (ended === 'complete') expect(found).toBe(JSON.stringify(after));
      else expect([JSON.stringify(before), JSON.stringify(after)]).toContain(found);
      await place.load();
      expect(await place.loaded()).toEqual(after);
      before = after;
    }
  });

  test('is exact after several loads at once, of which those that lose say so', async (context) => {
    const place = await openPlace(kind, context);
    // The tables exist, and the workspace has loaded nothing.
    await place.load({ workspace: 'other' });
    await place.change(`INSERT INTO things (id) SELECT gen_random_uuid() FROM range(${MANY})`);
    const ended = await Promise.allSettled(Array.from({ length: CROWD }, () => place.loadApart()));
    for (const result of ended) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'destination_failed' });
    }
    expect(ended.some(({ status }) => status === 'fulfilled')).toBe(true);
    await place.load();
    await expectEqual(place);
  });
});

test.for(SERVERS)('a %s destination that cannot be reached is named without its password', async (kind, context) => {
  const place = await openPlace(kind, context);
  const url = urlOf(place);
  url.password = 'wr0ng-password';
  const wrong = place.load({ target: { kind, url: url.href } });
  await expect(wrong).rejects.toMatchObject({ code: 'destination_failed', message: expect.stringContaining('tester') });
  await expect(wrong).rejects.not.toThrow('wr0ng-password');
  url.port = '1';
  url.searchParams.set('password', 'wr0ng-password');
  const away = place.load({ target: { kind, url: url.href } });
  await expect(away).rejects.toMatchObject({
    code: 'destination_failed',
    message: expect.stringContaining('127.0.0.1'),
  });
  await expect(away).rejects.not.toThrow('wr0ng-password');
});

const ON_INSERT = 'BEFORE INSERT ON sightline.things FOR EACH ROW EXECUTE FUNCTION sightline.fail()';
const failing = (body: string): string =>
  `CREATE FUNCTION sightline.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$;
   CREATE TRIGGER failing ${ON_INSERT}`;
const REPAIRED = 'DROP FUNCTION sightline.fail() CASCADE';

const failingMariadb = (body: string): string => `CREATE TRIGGER failing BEFORE INSERT ON things FOR EACH ROW ${body}`;

test.for([
  [
    'mysql',
    'is full',
    failingMariadb(`SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'No space left on device'`),
    'DROP TRIGGER failing',
    'No space left on device',
  ],
  [
    'mysql',
    'ends in the middle',
    failingMariadb('KILL CONNECTION_ID()'),
    'DROP TRIGGER failing',
    'Connection was killed',
  ],
  [
    'mysql',
    'allows reading only',
    'REVOKE ALL ON `DATABASE%`.* FROM tester; GRANT SELECT ON `DATABASE%`.* TO tester',
    'GRANT ALL ON `DATABASE%`.* TO tester',
    'command denied',
  ],
  [
    'postgres',
    'is full',
    failing(`RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'`),
    REPAIRED,
    'No space left on device',
  ],
  [
    'postgres',
    'ends in the middle',
    failing('PERFORM pg_terminate_backend(pg_backend_pid())'),
    REPAIRED,
    'terminating connection',
  ],
  [
    'postgres',
    'is read-only',
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
    `BEGIN READ WRITE;
     DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$;
     COMMIT`,
    'read-only transaction',
  ],
] as const)(
  'a load into a %s server that %s writes nothing, and the next one is exact',
  async ([kind, _fault, fault, repair, message], context) => {
    const place = await openPlace(kind, context);
    const run = async (sql: string): Promise<unknown> =>
      kind === 'postgres'
        ? queryAt(urlOf(place).href, sql)
        : (await servers.mariadb(context)).run(`USE ${place.schema}; ${sql.replaceAll('DATABASE', place.schema)}`);
    await place.change(`INSERT INTO things (id, words) VALUES ('${idOf(1)}', 'old'), ('${idOf(2)}', 'gone')`);
    await place.load();
    const before = await place.loaded();
    await run(fault);
    await place.change(
      `UPDATE things SET words = 'new' WHERE words = 'old'`,
      `DELETE FROM things WHERE words = 'gone'`,
      `INSERT INTO things (id) VALUES ('${idOf(3)}')`,
    );
    await expect(place.load()).rejects.toMatchObject({
      code: 'destination_failed',
      message: expect.stringContaining(message),
    });
    expect(await place.loaded()).toEqual(before);
    await run(repair);
    await place.load();
    await expectEqual(place);
  },
);

test.for(FILES)(
  'a load into a %s file on a full or read-only disk writes nothing, and the next one is exact',
  async (kind, context) => {
    const disk = await smallDisk(DISK_BYTES);
    if (disk === null) return context.skip();
    const place = await openPlace(kind, context, disk.folder);
    await place.change(`INSERT INTO things (id, words) VALUES ('${idOf(1)}', 'old')`);
    await place.load();
    const before = await place.loaded();
    await place.change(
      `DELETE FROM things`,
      `INSERT INTO things (id, words) SELECT gen_random_uuid(), sha256(CAST(range AS VARCHAR)) FROM range(${MANY})`,
    );
    for (const fault of ['full', 'read-only'] as const) {
      if (fault === 'full') disk.leave(100_000);
      else disk.remount('ro');
      await expect(place.load()).rejects.toMatchObject({
        code: expect.stringMatching(/^(destination_failed|disk_full)$/),
      });
      disk.remount('rw');
      expect(await place.loaded()).toEqual(before);
    }
    disk.leave(DISK_BYTES);
    await place.load();
    await expectEqual(place);
  },
);

test('a PostgreSQL database with another encoding than UTF8 is refused', async (context) => {
  const place = await openPlace('postgres', context);
  const server = await postgresFor(context);
  const name = `latin_${process.pid}`;
  await server.run(`CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`);
  onTestFinished(async () => void (await server.run(`DROP DATABASE ${name}`)));
  const url = new URL(server.url());
  url.pathname = name;
  await expect(place.load({ target: { kind: 'postgres', url: url.href } })).rejects.toMatchObject({
    code: 'destination_failed',
    message: expect.stringContaining('must be UTF8; it is LATIN1'),
  });
});

test('a MariaDB server that would change values is refused', async (context) => {
  const place = await openPlace('mysql', context);
  const { run } = await servers.mariadb(context);
  await run(`SET GLOBAL sql_mode = ''`);
  onTestFinished(async () => void (await run('SET GLOBAL sql_mode = DEFAULT')));
  await expect(place.load()).rejects.toMatchObject({
    code: 'destination_failed',
    message: expect.stringContaining('must have STRICT_TRANS_TABLES'),
  });
  expect(await place.exists()).toBe(false);
});

test('MariaDB stores no numbers that are not finite, and times of all years', async (context) => {
  const place = await openPlace('mysql', context);
  const times = ['0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00', '1969-12-31 23:59:59.000001+00'];
  const values = ['nan', 'inf', '-inf'].map((share, index) => `('${idOf(index)}', '${share}', '${times[index]}')`);
  await place.change(`INSERT INTO things (id, share, "at") VALUES ${values.join(', ')}`);
  await place.load();
  await place.change('UPDATE things SET count = 1', 'UPDATE things SET count = NULL');
  expect(await place.load()).toMatchObject([{ rows: 3, inserted: 0, updated: 0 }]);
  await place.change('UPDATE things SET share = NULL');
  await expectEqual(place);
});

test('of two loads into MariaDB, the later one waits, and writes nothing if its data are older', async (context) => {
  const place = await openPlace('mysql', context);
  const { run, hold } = await servers.mariadb(context);
  const waiting = async (count: number): Promise<void> => {
    const query = `SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'`;
    await expect.poll(() => run(query), { timeout: 60_000 }).toBe(`${count}\n`);
  };
  await place.change(`INSERT INTO things (id, words) VALUES ('${idOf(1)}', 'first')`);
  await place.load();
  await place.change(`UPDATE things SET words = 'second'`);
  const older = join(place.folder, 'older.duckdb');
  await copyFile(join(place.folder, 'replica.duckdb'), older);
  await place.change(`UPDATE things SET words = 'third'`, `INSERT INTO things (id) VALUES ('${idOf(2)}')`);
  const release = await hold(place.schema, 'SELECT 1 FROM things FOR UPDATE');
  const newer = place.load();
  await waiting(1);
  const stale = place.load({ replica: older });
  stale.catch(() => undefined);
  await waiting(2);
  await release();
  expect(await newer).toMatchObject([{ inserted: 1, updated: 1 }]);
  await expect(stale).rejects.toMatchObject({ code: 'destination_newer' });
  await expectEqual(place);
});

test('a catalog that commits tables apart is exact after the load that follows a failed one', async (context) => {
  const place = await openPlace('iceberg', context);
  if (place.target.kind !== 'iceberg') throw new TypeError('not Iceberg');
  const apart = await commitsApart(place.target.url);
  const target = { ...place.target, url: apart.url };
  const other = { ...TABLE, name: 'others' };
  const load = () => place.load({ target, tables: [TABLE, other] });
  await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}')`);
  await load();
  for (let count = 1; count <= ROUNDS; count++) {
    await place.change(`UPDATE things SET count = ${count}`);
    // DuckDB commits the tables in any order: the position may be the first or the last one.
    apart.commits = 1 + (count % 2);
    await expect(load()).rejects.toMatchObject({
      code: 'destination_failed',
      message: expect.not.stringContaining('another process'),
    });
    apart.commits = Number.POSITIVE_INFINITY;
    expect(await load()).toHaveLength(2);
    await expectEqual(place);
    await expectEqual(place, other);
  }
  expect(await load()).toBeNull();
});

test('a catalog gets a token from a client of OAuth 2, and messages have no secret', async (context) => {
  const place = await openPlace('iceberg', context);
  if (place.target.kind !== 'iceberg') throw new TypeError('not Iceberg');
  const { target } = place;
  const client = { clientId: 'sightline', clientSecret: 'the-s3cret', scope: null };
  await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}')`);
  await place.load({ target: { ...target, access: { ...client, tokenUrl: `${target.url}/v1/oauth/tokens` } } });
  await expectEqual(place);
  for (const access of [{ token: 'the-s3cret' }, { ...client, tokenUrl: 'http://127.0.0.1:1/tokens' }]) {
    const away = place.load({ target: { ...target, url: 'http://127.0.0.1:1', access } });
    await expect(away).rejects.toMatchObject({
      code: 'destination_failed',
      message: expect.stringContaining('127.0.0.1:1'),
    });
    await expect(away).rejects.not.toThrow('s3cret');
  }
});

test('a missing extension is named with the folder in which it should be', async (context) => {
  const place = await openPlace('sqlite', context);
  await expect(place.load({ extensions: { path: place.folder, isGiven: true } })).rejects.toMatchObject({
    code: 'extension_missing',
    message: expect.stringContaining('sqlite_scanner'),
  });
});

test.for([
  ['earlier data', 'UPDATE sync.runs SET data_version = -5', 'this warehouse has version'],
  [
    'the data of another warehouse',
    'UPDATE sync.runs SET run_id = gen_random_uuid()',
    'data of another warehouse under the workspace name acme',
  ],
] as const)('a load replaces data by %s only with --full', async ([_title, source, message], context) => {
  const place = await openPlace('duckdb', context);
  await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}'), ('${idOf(3)}')`);
  await place.load();
  await place.change(source, `UPDATE things SET id = '${idOf(2)}' WHERE id = '${idOf(1)}'`);
  await expect(place.load()).rejects.toMatchObject({
    code: 'destination_newer',
    message: expect.stringContaining(message),
  });
  expect(await place.loaded()).toHaveLength(2);
  expect(await place.load({ full: true })).toMatchObject([{ rows: 2, inserted: 1, deleted: 1 }]);
  await expectEqual(place);
});

test('a load removes the rows of tables that are not loaded any more', async (context) => {
  const place = await openPlace('duckdb', context);
  await place.change(`INSERT INTO things (id) VALUES ('${idOf(1)}')`);
  await place.load();
  await place.load({ workspace: 'other' });
  expect(await place.load({ tables: [] })).toEqual([{ name: 'things', rows: 0, inserted: 0, updated: 0, deleted: 1 }]);
  expect(await place.loaded()).toEqual([]);
  const rows = await place.inDestination(`SELECT workspace FROM ${tableAt('sightline', 'things')}`);
  expect(rows).toEqual([['other']]);
});

test('a load finds values that changed places', async (context) => {
  const place = await openPlace('duckdb', context);
  await place.change(`INSERT INTO things (id, words, more, share) VALUES ('${idOf(1)}', '1', '2', 0)`);
  await place.load();
  await place.change(`UPDATE things SET words = '2', more = '1' WHERE id = '${idOf(1)}'`);
  expect(await place.load()).toMatchObject([{ inserted: 0, updated: 1, deleted: 0 }]);
  await expectEqual(place);
});

test.for(SERVERS)(
  'a %s destination keeps a table of that name that sightline did not create',
  async (kind, context) => {
    const place = await openPlace(kind, context);
    if (kind === 'postgres') await place.inDestination('CREATE SCHEMA destination.sightline');
    await place.inDestination(`CREATE TABLE ${tableAt(place.schema, 'things')} (own VARCHAR)`);
    await expect(place.load()).rejects.toMatchObject({
      code: 'destination_failed',
      message: expect.stringContaining('things has no column'),
    });
    const columns = `SELECT column_name FROM (DESCRIBE ${tableAt(place.schema, 'things')})`;
    expect(await place.inDestination(columns)).toEqual([['own']]);
  },
);
