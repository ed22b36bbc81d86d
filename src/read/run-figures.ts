import type { Catalogue } from '../contract/catalogue.ts';
import type { Query } from '../warehouse/database.ts';
import { readLastWholeRun } from '../warehouse/ledger/runs.ts';
import { quoted } from '../warehouse/schema.ts';
import type { ServedReplica } from './open-replica.ts';

/** Requests and changes of a run, from the ledger. */
export interface RunFigures {
  readonly status: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly requests: number;
  readonly retries: number;
  readonly waitedMs: number;
  readonly changes: Readonly<Record<'read' | 'inserted' | 'updated' | 'deleted', number>>;
}

/** Numbers of a replica that only monitoring uses; counts by name. */
export interface Figures {
  /** The last finished run; null before the first. */
  readonly lastRun: RunFigures | null;
  readonly runs: ReadonlyMap<string, number>;
  /** Failed runs since the last complete or partial run; interrupted runs do not count. */
  readonly failuresInARow: number;
  /** End of the last complete sync of everything, epoch milliseconds. */
  readonly lastWholeAt: number | null;
  /** Requests ever sent, by status; `none` if no response was received. */
  readonly requests: ReadonlyMap<string, number>;
  readonly tables: ReadonlyMap<string, number>;
  readonly quarantined: ReadonlyMap<string, number>;
  readonly drift: ReadonlyMap<string, number>;
  readonly dataVersion: number;
}

/** Reads the numbers of a replica for monitoring. */
export function readFigures(replica: ServedReplica, catalogue: Catalogue): Promise<Figures> {
  return replica.replica.work(async (query) => ({
    lastRun: await readLastRun(query),
    runs: await counts(query, "SELECT status, count(*) FROM sync.runs WHERE kind = 'sync' GROUP BY status"),
    failuresInARow: await readFailuresInARow(query),
    lastWholeAt: await readLastWholeRun(query),
    requests: await counts(
      query,
      "SELECT coalesce(CAST(status AS VARCHAR), 'none'), count(*) FROM sync.requests GROUP BY 1",
    ),
    tables: await readTables(query, catalogue),
    quarantined: await counts(query, 'SELECT resource, count(*) FROM sync.quarantine GROUP BY resource'),
    drift: await counts(query, 'SELECT kind, count(*) FROM sync.drift GROUP BY kind'),
    dataVersion: replica.dataVersion,
  }));
}

async function readLastRun(query: Query): Promise<RunFigures | null> {
  const [row] = await query(
    `SELECT status, CAST(epoch_ms(started_at) AS DOUBLE), CAST(epoch_ms(ended_at) AS DOUBLE), requests, retries,
       waited_ms, CAST(tables AS VARCHAR) FROM sync.runs
     WHERE status <> 'running' AND kind = 'sync' ORDER BY started_at DESC, rowid DESC LIMIT 1`,
  );
  if (row === undefined) return null;
  const [status, startedAt, endedAt, requests, retries, waitedMs, tables] = row;
  const changes = { read: 0, inserted: 0, updated: 0, deleted: 0 };
  const byTable = JSON.parse(typeof tables === 'string' ? tables : '{}') as Record<string, Partial<typeof changes>>;
  for (const table of Object.values(byTable)) {
    for (const kind of Object.keys(changes) as (keyof typeof changes)[]) changes[kind] += Number(table[kind] ?? 0);
  }
  return {
    status: String(status),
    startedAt: Number(startedAt),
    endedAt: endedAt === null ? null : Number(endedAt),
    requests: Number(requests ?? 0),
    retries: Number(retries ?? 0),
    waitedMs: Number(waitedMs ?? 0),
    changes,
  };
}

async function readFailuresInARow(query: Query): Promise<number> {
  const [row] = await query(
    `SELECT count(*) FROM sync.runs WHERE status = 'failed' AND kind = 'sync' AND started_at > coalesce(
       (SELECT max(started_at) FROM sync.runs WHERE status IN ('complete', 'partial') AND kind = 'sync'), TIMESTAMP '1970-01-01')`,
  );
  return Number(row?.[0] ?? 0);
}

async function readTables(query: Query, catalogue: Catalogue): Promise<Map<string, number>> {
  const names = [...new Set(catalogue.tables.map(({ name }) => name))];
  const counted = names.map((name) => `SELECT '${name}', count(*) FROM ${quoted(name)}`);
  return counts(query, counted.join(' UNION ALL '));
}

async function counts(query: Query, sql: string): Promise<Map<string, number>> {
  return new Map((await query(sql)).map(([name, count]) => [String(name), Number(count)]));
}
