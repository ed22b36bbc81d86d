import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReplica, REPLICA_OPTIONS, type Replica, type ReplicaOptions } from '../../src/warehouse/replica.ts';
import { temporaryFolder } from '../support/folders.ts';

/** A query that takes far longer than any test waits. */
const ENDLESS = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range + b.range) = 1';

describe('a replica', () => {
  it('returns integers, texts and booleans in column order', async () => {
    const replica = await open();
    const rows = await replica.work((query) =>
      query('SELECT CAST($1 AS BIGINT), $2, true, NULL, CAST(1.5 AS DOUBLE), count(*) FROM range(3)', [7, 'α']),
    );
    expect(rows).toEqual([[7, 'α', true, null, 1.5, 3]]);
  });

  it('runs as many tasks concurrently as it has connections, each on its own connection', async () => {
    const replica = await open({ connections: 2 });
    let running = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 9 }, () =>
        replica.work(async (query) => {
          running += 1;
          most = Math.max(most, running);
          await query('SELECT 1');
          await turn();
          running -= 1;
        }),
      ),
    );
    expect(most).toBe(2);
  });

  it('compares times with days in UTC on every connection, whatever the time zone of the machine', async () => {
    const replica = await open({ connections: 3 });
    // The time zone of the machine has another name, such as Etc/UTC.
    const zones = await Promise.all(
      [1, 2, 3].map(() => replica.work((query) => query("SELECT current_setting('TimeZone')"))),
    );
    expect(zones).toEqual([[['UTC']], [['UTC']], [['UTC']]]);
  });

  it('rejects a task when too many are waiting', async () => {
    const replica = await open({ connections: 1, waitingMax: 2 });
    const stop = new AbortController();
    const busy = replica.work((query) => query(ENDLESS), stop.signal);
    const waiting = [1, 2].map((number) => replica.work((query) => query(`SELECT ${number}`)));
    await expect(replica.work((query) => query('SELECT 3'))).rejects.toMatchObject({ code: 'overloaded' });
    expect(replica.load()).toEqual({ running: 1, waiting: 2 });
    const next = replica.work((query) => query('SELECT 4'), undefined, 'continued');
    expect(replica.load()).toEqual({ running: 1, waiting: 3 });
    stop.abort(new Error('enough'));
    await expect(busy).rejects.toThrow('enough');
    expect(await Promise.all([...waiting, next])).toEqual([[[1]], [[2]], [[4]]]);
  });

  it('stays open while it is held, also after it was closed', async () => {
    const replica = await openUnclosed();
    const releases = [replica.hold(), replica.hold()];
    let isClosed = false;
    const closed = replica.close().then(() => {
      isClosed = true;
    });
    for (const release of releases) {
      await turn();
      expect(isClosed).toBe(false);
      expect(await replica.work((query) => query('SELECT 1'))).toEqual([[1]]);
      release();
    }
    await closed;
  });

  it('stops a query that takes too long, and reuses its connection', async () => {
    const replica = await open({ connections: 1, timeoutMs: 50 });
    await expect(replica.work((query) => query(ENDLESS))).rejects.toMatchObject({ code: 'query_timeout' });
    expect(await replica.work((query) => query('SELECT 1'))).toEqual([[1]]);
  });

  it('reports a query that needs more memory than its limit, and reuses its connection', async () => {
    const replica = await open({ connections: 1, memoryLimitMb: 20 });
    const large = 'SELECT max(len(l)) FROM (SELECT list(i ORDER BY hash(i)) AS l FROM range(20_000_000) t(i))';
    await expect(replica.work((query) => query(large))).rejects.toMatchObject({ code: 'out_of_memory' });
    expect(await replica.work((query) => query('SELECT 1'))).toEqual([[1]]);
  });

  it('stops a task between two queries', async () => {
    const replica = await open({ connections: 1 });
    const stop = new AbortController();
    const task = replica.work(async (query) => {
      await query('SELECT 1');
      stop.abort(new Error('gone'));
      return query('SELECT 2');
    }, stop.signal);
    await expect(task).rejects.toThrow('gone');
    expect(await replica.work((query) => query('SELECT 3'))).toEqual([[3]]);
  });

  it('does not start a task whose caller has aborted', async () => {
    const replica = await open({ connections: 1 });
    const stop = new AbortController();
    let begun = false;
    const first = replica.work((query) => query('SELECT sum(range) FROM range(1000000)'));
    const second = replica.work(async () => {
      begun = true;
    }, stop.signal);
    stop.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    await first;
    expect(begun).toBe(false);
  });

  it('cannot write and cannot read other files', async () => {
    const replica = await open();
    for (const sql of [
      'CREATE TABLE u (a INTEGER)',
      "SELECT * FROM read_text('/etc/hostname')",
      "ATTACH ':memory:' AS x",
    ]) {
      await expect(
        replica.work((query) => query(sql)),
        sql,
      ).rejects.toThrow();
    }
  });

  it('caches prepared statements up to a limit and drops the oldest', async () => {
    const replica = await open({ connections: 1 });
    for (let round = 0; round < 2; round++) {
      for (let number = 0; number < 300; number++) {
        expect(await replica.work((_query, _read, prepared) => prepared(`SELECT ${number}`))).toEqual([[number]]);
      }
    }
  });

  it('runs many different large groupings under a memory limit and keeps no memory of them', async () => {
    const replica = await open({ connections: 1, memoryLimitMb: 100 });
    const failures: string[] = [];
    for (let number = 0; number < 12; number++) {
      // DuckDB keeps materialized rows and unfinished hash tables until their statement runs again or is destroyed.
      const grouping = `WITH grouped AS MATERIALIZED (
          SELECT range % 50000 AS key, count(*) AS n, max(repeat('x', 20) || range) AS text
          FROM range(100000) WHERE range <> ${number} GROUP BY ALL
        ) SELECT a.key FROM grouped a JOIN grouped b USING (key, n, text) GROUP BY ALL LIMIT 1`;
      await replica.work((query) => query(grouping)).catch((thrown) => failures.push(`${number}: ${thrown}`));
    }
    expect(failures).toEqual([]);
    const [[bytes] = []] = await replica.work((query) =>
      query('SELECT CAST(sum(memory_usage_bytes + temporary_storage_bytes) AS BIGINT) FROM duckdb_memory()'),
    );
    expect(bytes).toBeLessThan(4_000_000);
  });
});

async function open(options: Partial<ReplicaOptions> = {}): Promise<Replica> {
  const replica = await openUnclosed(options);
  onTestFinished(() => replica.close());
  return replica;
}

async function openUnclosed(options: Partial<ReplicaOptions> = {}): Promise<Replica> {
  const path = join(await temporaryFolder(), 'copy.duckdb');
  const database = await openDatabase(path);
  await database.exclusive((session) => session.run('CREATE TABLE t (a INTEGER)'));
  await database.close();
  return openReplica(path, { ...REPLICA_OPTIONS, ...options });
}
