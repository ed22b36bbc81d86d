import { expect, test } from 'vitest';
import { startLiar } from '../hostile/liar.ts';
import { openWorkspace } from '../support/workspace.ts';

const PAGE = 4;
const ALERTS = 10;

interface Alert {
  readonly id: string;
}

/** A workspace with alerts on pages of four, whose cursors are positions. `onPage` may change the list after each page. */
async function openMoving() {
  let alerts: Alert[] = [];
  let reads = 0;
  let onPage: (page: number, read: number) => void = () => undefined;
  const { sync, query } = await openWorkspace({
    brands: 1,
    between: async (upstream) => {
      const liar = await startLiar(upstream);
      liar.tell((exchange) => {
        if (!exchange.path.endsWith('/alerts')) return;
        const at = Number(exchange.query.get('cursor') ?? 0);
        if (at === 0) {
          reads += 1;
          const [first] = JSON.parse(exchange.body.toString()).data;
          if (alerts.length === 0)
            alerts = Array.from({ length: ALERTS }, (_, index) => ({ ...first, id: idOf(index) }));
        }
        const data = alerts.slice(at, at + PAGE);
        const nextCursor = at + PAGE < alerts.length ? String(at + PAGE) : null;
        exchange.status = 200;
        exchange.body = Buffer.from(JSON.stringify({ data, nextCursor }));
        onPage(at / PAGE + 1, reads);
      });
      return liar.baseUrl;
    },
  });
  const only = ['brands', 'alerts'];
  expect((await sync({ only, full: true })).status).toBe('complete');
  reads = 0;
  return {
    resync: () => sync({ only, full: true }),
    live: async () =>
      (await query('SELECT CAST(id AS VARCHAR) AS id FROM alerts WHERE _deleted_at IS NULL ORDER BY 1')).map(
        ({ id }) => id,
      ),
    upstream: () => alerts,
    change: (next: (page: number, read: number) => Alert[] | null) => {
      onPage = (page, read) => {
        alerts = next(page, read) ?? alerts;
      };
    },
    reads: () => reads,
  };
}

function idOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`;
}

test('rows that move to an earlier page during a read stay live, and those deleted meanwhile are deleted', async () => {
  const { resync, live, upstream, change, reads } = await openMoving();
  change((page, read) => (page === 1 && read === 1 ? upstream().slice(2) : null));
  expect((await resync()).status).toBe('complete');
  expect(await live()).toEqual(Array.from({ length: ALERTS - 2 }, (_, index) => idOf(index + 2)));
  expect(reads()).toBe(3);
});

test('rows of a list that stands still are deleted after the second read', async () => {
  const { resync, live, upstream, change, reads } = await openMoving();
  change((page, read) => (page === 3 && read === 1 ? upstream().filter(({ id }) => id !== idOf(9)) : null));
  await resync();
  expect(await live()).toHaveLength(ALERTS);
  expect((await resync()).status).toBe('complete');
  expect(await live()).toEqual(Array.from({ length: ALERTS - 1 }, (_, index) => idOf(index)));
  expect(reads()).toBe(3);
});

test('a list that moves during every read deletes nothing, and the run is partial', async () => {
  const { resync, live, upstream, change } = await openMoving();
  // Puts the first row at the end, so that one row of the second page moves to the first.
  change((page) => (page === 1 ? [...upstream().slice(1), ...upstream().slice(0, 1)] : null));
  const { status, failures } = await resync();
  expect(status).toBe('partial');
  expect(failures).toEqual([expect.objectContaining({ code: 'deletions_unconfirmed' })]);
  expect(await live()).toHaveLength(ALERTS);
});
