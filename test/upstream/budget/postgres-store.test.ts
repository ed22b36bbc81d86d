import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { openBudgetDatabase } from '../../../src/upstream/budget/budget-database.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { ownPostgresFor, postgresFor } from '../../support/test-postgres.ts';
import { hastyClock } from './budget-clock.ts';
import { homeIn, makeHasty, openIn, plainHomeIn, signal } from './budget-homes.ts';

test('after a failover to a standby without the last records, all processes continue and no record is missed', async (context) => {
  const database = await postgresFor(context);
  // Real time, so that no hold ends during the test even on a slow machine.
  const open = openIn(plainHomeIn(database), systemClock);
  const { budget: before } = await open();
  const send = async (budget: typeof before, count: number) => {
    for (let sent = 0; sent < count; sent++)
      (await budget.acquire(signal())).answered({ limit: 6_000, remaining: null });
  };
  await send(before, 15);
  // Restore the records and their sequence numbers of a moment ago.
  const log = 'public.sightline_budget_log';
  await database.run(`DELETE FROM ${log} WHERE seq > (SELECT max(seq) FROM ${log}) - 28`);
  await database.run(`SELECT setval(pg_get_serial_sequence('${log}', 'seq'), (SELECT max(seq) FROM ${log}))`);
  const { budget: after } = await open();
  await send(after, 14);
  await send(before, 1);
  expect(before.state()).toMatchObject({ limit: 6_000, capacity: 5_940, left: 5_940 - 30 });
  await database.run(`DELETE FROM ${log} WHERE seq > (SELECT max(seq) FROM ${log}) - 20`);
  await database.run(`SELECT setval(pg_get_serial_sequence('${log}', 'seq'), (SELECT max(seq) FROM ${log}))`);
  // New claims have numbers below the ones it had read.
  await send(after, 1);
});

test('deadlocked statements are repeated without reporting an outage', async (context) => {
  const database = await postgresFor(context);
  const said: string[] = [];
  const address = plainHomeIn(database);
  const open = () => openBudgetDatabase(address, systemClock, { say: (sentence) => void said.push(sentence) });
  const [one, two] = [await open(), await open()];
  await database.run('CREATE TABLE crossing (name text PRIMARY KEY, count int NOT NULL)');
  await database.run("INSERT INTO crossing VALUES ('a', 0), ('b', 0)");
  const step = (name: string): string => `UPDATE crossing SET count = count + 1 WHERE name = '${name}';`;
  // Several statements in one text are one transaction: each transaction waits for the row locked by the other.
  const crossing = (first: string, second: string) => ({
    text: `${step(first)} SELECT pg_sleep(0.2); ${step(second)}`,
  });
  await Promise.all([one.query(crossing('a', 'b')), two.query(crossing('b', 'a'))]);
  const { rows } = await database.run('SELECT count FROM crossing');
  expect(rows).toEqual([{ count: 2 }, { count: 2 }]);
  const deadlocks = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
  await expect.poll(async () => Number((await database.run(deadlocks)).rows[0]?.deadlocks)).toBeGreaterThan(0);
  expect(said).toEqual([]);
  for (const { close } of [one, two]) await close();
});

test('a closed connection is reported as no answer even if its error code is EPIPE', async () => {
  const folder = await temporaryFolder();
  // The server closes the connection before any data: on Unix sockets this gives EPIPE at once.
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(join(folder, '.s.PGSQL.5432'), resolve));
  onTestFinished(() => void server.close());
  const url = `postgres://tester:secret@${encodeURIComponent(folder)}/nothing`;
  const opening = openBudgetDatabase({ url, urlVariable: 'BUDGET_DATABASE_URL' }, hastyClock);
  await expect(opening).rejects.toThrow(/does not answer/);
});

test('an outage whose end no query observed does not count towards the next one', async (context) => {
  const database = await makeHasty(await ownPostgresFor(context));
  let aheadMs = 0;
  const clock = { ...hastyClock, monotonic: () => hastyClock.monotonic() + aheadMs };
  const open = () => openBudgetDatabase(homeIn(database), clock);
  const [left, stays] = [await open(), await open()];
  await database.stop();
  await expect(left.query({ text: 'SELECT 1' }, AbortSignal.abort())).rejects.toMatchObject({
    code: 'budget_unreachable',
  });
  aheadMs += 10 * 60_000;
  const asked = stays.query({ text: 'SELECT 1 AS one' });
  await Promise.all([database.start(), expect(asked).resolves.toMatchObject({ rows: [{ one: 1 }] })]);
  for (const { close } of [left, stays]) await close();
});
