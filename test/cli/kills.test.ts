import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import type { TestWorkspace } from '../support/workspace.ts';
import { type CliWorkspace, openCli, until } from './helpers.ts';

/** Number of kills; `KILLS=200` for the long proof. */
const KILLS = Number(process.env['KILLS'] ?? 4);
/** Requests after which a process is killed. A sync sends 40 to 60, so that some processes end by themselves. */
const LIFE_REQUESTS = { least: 1, most: 65 };
/** Concurrent requests, plus the request for the description, which is not a page. */
const IN_FLIGHT = 8 + 1;

type Inside = Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'>;

test(`kill -9 of the command, ${KILLS} times: no rows are lost or duplicated, and no stored page is fetched again`, {
  timeout: 60_000 + KILLS * 15_000,
}, async () => {
  const now = Date.now();
  const cli = await openCli({ brands: 1, prompts: 3, days: 10, responsesPerDay: 150, latencyMs: 15, clock: () => now });
  const { sandbox, start, run } = cli;
  // Advance upstream's clock by days.
  await writeFile(join(cli.folder, 'sightline.config.json'), JSON.stringify({ clock: 'upstream' }));
  const counts = { killed: 0, passes: 0, sent: 0, lost: 0 };
  for (let round = 1; counts.killed < KILLS; round++) {
    const before = sandbox.requests.length;
    const { process: child, finished } = start('sync', '--json');
    const life = requestsOf(round);
    const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await until(`${life} requests are sent`, () => hasEnded() || sandbox.requests.length - before >= life);
    child.kill('SIGKILL');
    const { code, signal, stderr } = await finished;
    const sent = sandbox.requests.length - before;
    await inside(cli, async (workspace) => {
      const [last] = await workspace.query(
        'SELECT count(*) AS kept FROM sync.requests WHERE run_id = (SELECT run_id FROM sync.runs ORDER BY started_at DESC, rowid DESC LIMIT 1)',
      );
      if (signal === null) return;
      const kept = sent === 0 ? 0 : Number(last?.['kept']);
      expect(sent - kept, `requests of round ${round} that left nothing`).toBeLessThanOrEqual(IN_FLIGHT);
      counts.sent += sent;
      counts.lost += sent - kept;
      await expectConsistent(workspace as TestWorkspace);
      expect(await workspace.query(ASKED_TWICE), `pages kept and asked for again, round ${round}`).toEqual([]);
    });
    if (signal !== null) {
      counts.killed += 1;
      continue;
    }
    expect(code, stderr).toBe(0);
    counts.passes += 1;
    await inside(cli, (workspace) => expectEqualToUpstream(workspace as TestWorkspace));
    sandbox.world.advance({
      days: 1,
      lateAnswers: 20,
      editedResponses: 10,
      deletedResponses: 10,
      forumStatusChanges: 2,
    });
  }
  expect((await run('sync', '--json')).code).toBe(0);
  await inside(cli, (workspace) => expectEqualToUpstream(workspace as TestWorkspace));
  expect(counts.sent, 'requests of runs that were killed').toBeGreaterThan(KILLS);
  if (process.env['KILLS'] !== undefined) process.stdout.write(`${JSON.stringify(counts)}\n`);
});

// Within a pass, which is a run and the runs that resume it, no stored page is fetched again.
const ASKED_TWICE = `SELECT path, query, count(*) AS times FROM sync.requests JOIN sync.runs USING (run_id)
  WHERE resource = 'responses' AND sync.requests.status = 200 GROUP BY pass_id, path, query HAVING count(*) > 1`;

// Spreads the values evenly for any count: multiples of the golden ratio.
function requestsOf(round: number): number {
  const share = (round * 0.618_033_988_749_894_9) % 1;
  return Math.round(LIFE_REQUESTS.least + share * (LIFE_REQUESTS.most - LIFE_REQUESTS.least));
}

// Checks the warehouse after the command.
async function inside({ sandbox, data }: CliWorkspace, look: (workspace: Inside) => Promise<unknown>): Promise<void> {
  const catalogue = createCatalogue(declarations);
  const { database, close } = await openWarehouse(join(data, 'warehouse.duckdb'), catalogue, {});
  try {
    await look({ sandbox, catalogue, query: (sql) => database.exclusive((session) => session.all(sql)) });
  } finally {
    await close();
  }
}
