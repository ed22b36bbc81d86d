import { expect, onTestFinished, test } from 'vitest';
import { until } from '../cli/helpers.ts';
import { countOf, IS_ENDURANCE } from '../support/counts.ts';
import { fetchExtensions } from '../support/duckdb-extensions.ts';
import { disabledJobs } from '../support/jobs.ts';
import { NOT_TRIED } from '../support/needs.ts';
import { postgresFor } from '../support/test-postgres.ts';
import { type Fleet, startFleet } from './fleet.ts';

const WORKSPACES = countOf(2, 20);
const WORKERS = countOf(2, 4);
const DAYS = countOf(1, 3);
/** Requests of a day after which its first worker is killed. */
const LIFE_REQUESTS = countOf(20, 100);
const LIMIT_MS = countOf(240_000, 3_600_000);
/** One edit per day: in so small a world, three can replace most citations of a page, which a sync rejects as a loss. */
const CHANGES = { days: 1, lateAnswers: 5, editedResponses: 1, deletedResponses: 2 };

const now = Date.now();
const sandboxOf = (index: number) => ({
  ...{ brands: 1, prompts: 2, days: 3, responsesPerDay: 6, rateLimit: 120 },
  ...{ seed: index + 1, clock: () => now, latencyMs: 2 },
});
const jobs = { ...disabledJobs, nightly: { cron: '0 0 1 1 *', steps: [{ do: 'sync' }] } };

const requestsOf = ({ sandboxes }: Fleet): number =>
  [...sandboxes.values()].reduce((sum, { requests }) => sum + requests.length, 0);

test(
  `${WORKERS} machines with empty folders, one killed a day, sync what one machine with a disk does`,
  async (context) => {
    const found = await fetchExtensions();
    if (typeof found === 'string') return context.skip(`${NOT_TRIED}${found}`);
    const databaseUrl = (await postgresFor(context)).url();
    const environment = { SIGHTLINE_EXTENSION_DIRECTORY: found.folder };
    const destinations = { h: { kind: 'postgres', urlVariable: 'CLUSTER_DATABASE_URL' } };
    const settings = { jobs, destinations, home: 'h', clock: 'upstream' };
    const away = await startFleet({ workspaces: WORKSPACES, sandboxOf, databaseUrl, environment, settings });
    onTestFinished(() => away.close());
    const here = await startFleet({ workspaces: WORKSPACES, sandboxOf, settings: { clock: 'upstream' } });
    onTestFinished(() => here.close());
    let mostOfSync = 0;
    for (let day = 1; day <= DAYS; day++) {
      const [before, beforeHere] = [requestsOf(away), requestsOf(here)];
      if (day > 1)
        for (const fleet of [away, here]) for (const { world } of fleet.sandboxes.values()) world.advance(CHANGES);
      await away.run('cluster', 'enqueue', 'nightly');
      const workers = [];
      for (let index = 1; index <= WORKERS; index++) {
        const folder = await away.machine(`day-${day}-${index}`);
        const name = `worker-${day}-${index}`;
        workers.push(away.startIn(folder, 'worker', '--once', '--name', name, '--concurrency', '1'));
      }
      const [first, ...others] = workers;
      await until('enough was asked', () => requestsOf(away) >= before + LIFE_REQUESTS);
      first?.process.kill('SIGKILL');
      for (const { ended, lines } of others) expect(await ended, lines.slice(-5).join('\n')).toBe(0);
      await here.run('sync', '--all');
      // The first sync is the longest.
      mostOfSync ||= Math.max(...[...here.sandboxes.values()].map(({ requests }) => requests.length));
      expect(requestsOf(here)).toBeGreaterThan(beforeHere);
    }
    const reader = await away.machine('reader');
    for (const name of away.sandboxes.keys()) {
      const { ended, lines } = away.startIn(reader, 'sql', 'SELECT 1', '--workspace', name);
      expect(await ended, lines.join('\n')).toBe(0);
      expect(await away.compare(name, undefined, reader)).toBe(await here.compare(name));
    }
    const statuses = [...away.sandboxes.values()].flatMap(({ requests }) => requests.map(({ status }) => status));
    expect(statuses.filter((status) => status === 429)).toEqual([]);
    const [asked, least] = [requestsOf(away), requestsOf(here)];
    process.stderr.write(`${WORKSPACES} workspaces, ${DAYS} days: ${asked} requests, ${least} on one disk\n`);
    // A killed machine asks again at most what it has asked since its last save. With many workspaces, that is little.
    expect(asked).toBeLessThanOrEqual(IS_ENDURANCE ? 1.05 * least : least + mostOfSync);
  },
  LIMIT_MS,
);
