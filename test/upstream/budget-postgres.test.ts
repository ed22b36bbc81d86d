import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { hastyClock } from './budget-clock.ts';
import { addressOf, databaseOf, openIn, startDatabase, stopDatabase } from './budget-homes.ts';

beforeAll(startDatabase);
afterAll(stopDatabase);

const signal = (): AbortSignal => {
  const controller = new AbortController();
  onTestFinished(() => controller.abort(new Error('the test is over')));
  setMaxListeners(0, controller.signal);
  return controller.signal;
};

test('on a standby that took over without the last records, all go on and none is missed', async (context) => {
  const database = databaseOf(context);
  const open = openIn({ kind: 'postgres', ...addressOf(database) });
  const { budget: before } = await open();
  const send = async (budget: typeof before, count: number) => {
    for (let sent = 0; sent < count; sent++) (await budget.acquire(signal())).answered({ limit: 600, remaining: null });
  };
  await send(before, 15);
  // Both the records and their numbers are those of some moments ago.
  const log = 'hasty.sightline_budget_log';
  await database.run(`DELETE FROM ${log} WHERE seq > (SELECT max(seq) FROM ${log}) - 28`);
  await database.run(`SELECT setval(pg_get_serial_sequence('${log}', 'seq'), (SELECT max(seq) FROM ${log}))`);
  const { budget: after } = await open();
  await send(after, 14);
  await send(before, 1);
  expect(before.state()).toMatchObject({ limit: 600, capacity: 594, left: 594 - 30 });
  await database.run(`DELETE FROM ${log} WHERE seq > (SELECT max(seq) FROM ${log}) - 20`);
  await database.run(`SELECT setval(pg_get_serial_sequence('${log}', 'seq'), (SELECT max(seq) FROM ${log}))`);
  const askedAt = hastyClock.monotonic();
  await send(after, 1);
  expect(hastyClock.monotonic() - askedAt).toBeLessThan(20_000);
});
