import { expect, it } from 'vitest';
import { createSqlService, type SqlService } from '../../../src/operations/sql/sql-service.ts';
import { builtInCatalogue as catalogue } from '../../../src/session/catalogues.ts';
import { openWorldService, stillClock } from '../served-world.ts';
import { serveBefore } from './serve-before.ts';
import { call, connect, post, startBareMcp } from './support.ts';

const ENDLESS = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
const world = serveBefore('tiny');

const query = (sql: string) => call(world().client, 'query', { sql });

it('a query runs with the limits of a server: it writes nothing and sees no settings', async () => {
  for (const sql of ["SELECT current_setting('allowed_paths')", 'FROM duckdb_settings()', "FROM 'x.csv'"]) {
    const { isError, text } = await query(sql);
    expect({ sql, isError }).toEqual({ sql, isError: true });
    expect(text).toMatch(/^sql_(rejected|invalid): /);
    expect(text).not.toContain(world().config.folder);
  }
});

it('a query that takes too long, or whose client disconnects, is ended, and the next one runs', async () => {
  const { config, copy } = world();
  const service = openWorldService(config);
  const short = createSqlService({ path: copy, catalogue, clock: stillClock, limits: { timeoutMs: 500 } });
  const long = createSqlService({ path: copy, catalogue, clock: stillClock, limits: { timeoutMs: 600_000 } });
  let [ended, begin] = [Promise.resolve<unknown>(null), (): void => undefined];
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const watched: SqlService = {
    ...long,
    run: (...given) => {
      const running = long.run(...given);
      ended = running.catch((thrown: unknown) => thrown);
      begin();
      return running;
    },
  };
  try {
    const limited = await connect(await startBareMcp(service, {}, { sql: short }));
    const { isError, text } = await call(limited, 'query', { sql: ENDLESS });
    expect(isError).toBe(true);
    expect(text).toMatch(/^query_limit: .*0\.5 s/);
    expect((await call(limited, 'query', { sql: 'SELECT 7 AS n' })).shown.rows).toEqual([[7]]);

    // Starts the process, so that the query begins at once.
    await long.run({ session: 'first', brands: null }, { sql: 'SELECT 1', rowsMax: 1 }, new AbortController().signal);
    const url = await startBareMcp(service, {}, { sql: watched });
    const leaving = new AbortController();
    const params = { name: 'query', arguments: { sql: ENDLESS } };
    const left = post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, {}, leaving.signal)
      .then((response) => response.text())
      .catch(() => 'gone');
    await begun;
    leaving.abort();
    expect(await left).toBe('gone');
    expect(await ended).toMatchObject({ code: 'query_canceled' });
    expect((await call(await connect(url), 'query', { sql: 'SELECT 7 AS n' })).shown.rows).toEqual([[7]]);
  } finally {
    await Promise.all([service.close(), short.close(), long.close()]);
  }
});
