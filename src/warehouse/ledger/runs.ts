import type { Query, Session } from '../database.ts';
import { toTimestampText } from './ledger.ts';
import { forgetEarlierDeletions } from './unconfirmed-deletions.ts';

/** Final status of a run; while it runs, the stored status is `running`. */
export type RunStatus = 'complete' | 'partial' | 'failed' | 'interrupted';

/** Purposes of runs. A `plan` reads only the lists and day counts that a plan needs. */
export const RUN_KINDS = ['sync', 'plan', 'verify', 'compare', 'replay', 'import'] as const;

/** Purpose of a run. */
export type RunKind = (typeof RUN_KINDS)[number];

/** Purpose of a run, and what started it: `command`, `program`, or `job` and the name of the job. */
export interface RunOrigin {
  readonly kind: RunKind;
  readonly trigger: string;
}

/** Error of a run whose process ended without recording its end. */
export const ENDED_UNEXPECTEDLY = 'the process ended unexpectedly';

/**
 * Returns a run as readers see it: one without a recorded end was interrupted, unless a sync is active.
 */
export function withDerivedEnd<T extends { readonly status: string; readonly error: string | null }>(
  run: T,
  isActive: boolean,
): T {
  return run.status !== 'running' || isActive ? run : { ...run, status: 'interrupted', error: ENDED_UNEXPECTEDLY };
}

/** A started run. */
export interface RunRef {
  readonly runId: string;
  /** A run that resumes another has the same pass. It does not read slices again that the pass has completed. */
  readonly passId: string;
}

/** Final status and counters of a run. */
export interface RunTotals {
  readonly status: RunStatus;
  readonly requests: number;
  readonly retries: number;
  readonly waitedMs: number;
  readonly quarantined: number;
  readonly tables: unknown;
  readonly error: string | null;
  /**
   * Whether the run failed or upstream contradicted itself. The next run then reads completed slices again and
   * resumes only unfinished ones.
   */
  readonly isDoubtful?: boolean;
}

/** Pass of slices that no run resumes. */
const NO_PASS = '00000000-0000-0000-0000-000000000000';

/**
 * Starts a run. It resumes the pass of the last run with the same options unless that run is complete. Runs of killed
 * processes are closed as interrupted.
 */
export async function beginRun(
  session: Session,
  run: { runId: string; options: string; now: number; origin?: RunOrigin },
): Promise<RunRef & { continues: boolean }> {
  const now = toTimestampText(run.now);
  await session.run(
    `UPDATE sync.runs SET status = 'interrupted', error = '${ENDED_UNEXPECTEDLY}', ended_at = coalesce(
       (SELECT max(sent_at) FROM sync.requests q WHERE q.run_id = runs.run_id), started_at) WHERE status = 'running'`,
  );
  const [last] = await session.all(
    `SELECT CAST(pass_id AS VARCHAR) AS pass_id, status FROM sync.runs WHERE options = $1
     ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    [run.options],
  );
  const continues = last !== undefined && last['status'] !== 'complete';
  const passId = continues ? String(last['pass_id']) : run.runId;
  // Checkpoints older than 2 days are not resumed; both dates are upstream's. Their slices are read from the first
  // page.
  const tooOld = 'WHERE read_at < (SELECT max(read_at) FROM sync.checkpoints) - INTERVAL 2 DAY';
  await session.run(
    `UPDATE sync.coverage SET state = NULL WHERE slice IN (SELECT slice FROM sync.checkpoints ${tooOld})`,
  );
  await session.run(`DELETE FROM sync.checkpoints ${tooOld}`);
  await session.run(
    `INSERT INTO sync.runs (run_id, pass_id, started_at, status, options, pid, kind, trigger)
     SELECT CAST($1 AS UUID), CAST($2 AS UUID), CAST($3 AS TIMESTAMP), 'running', $4, $5, $6, $7`,
    [run.runId, passId, now, run.options, process.pid, run.origin?.kind ?? 'sync', run.origin?.trigger ?? null],
  );
  return { runId: run.runId, passId, continues };
}

/** Stores the final status and counters of a run. */
export async function endRun(
  session: Session,
  run: RunRef,
  totals: RunTotals & { readonly dataVersion: number },
  now: number,
): Promise<void> {
  // Checkpoints left by a complete pass are obsolete: the pass has read those rows in slices with other ranges.
  if (totals.status === 'complete') {
    await session.run('DELETE FROM sync.checkpoints WHERE pass_id = CAST($1 AS UUID)', [run.passId]);
  }
  if (totals.isDoubtful === true) {
    await session.run(
      `UPDATE sync.coverage SET pass_id = CAST('${NO_PASS}' AS UUID) WHERE pass_id = CAST($1 AS UUID)`,
      [run.passId],
    );
  }
  await forgetEarlierDeletions(session, run.runId);
  await session.run(
    `UPDATE sync.runs SET status = $2, ended_at = CAST($3 AS TIMESTAMP), requests = $4, retries = $5, waited_ms = $6,
       quarantined = $7, tables = CAST($8 AS JSON), error = $9, data_version = $10 WHERE run_id = CAST($1 AS UUID)`,
    [
      run.runId,
      totals.status,
      toTimestampText(now),
      totals.requests,
      totals.retries,
      Math.round(totals.waitedMs),
      totals.quarantined,
      JSON.stringify(totals.tables),
      totals.error,
      totals.dataVersion,
    ],
  );
}

/** Records an operation that replaced data without requests, such as a replay, as a run that has ended. */
export async function recordRun(session: Session, run: RunOrigin & { runId: string; now: number }): Promise<void> {
  await session.run(
    `INSERT INTO sync.runs (run_id, pass_id, started_at, ended_at, status, options, requests, pid, kind, trigger)
     SELECT CAST($1 AS UUID), CAST($1 AS UUID), CAST($2 AS TIMESTAMP), CAST($2 AS TIMESTAMP), 'complete', '{}', 0, $3, $4, $5`,
    [run.runId, toTimestampText(run.now), process.pid, run.kind, run.trigger],
  );
}

/** Requests of the last complete run with these options; null if there was none. */
export async function readLastRequests(query: Query, options: string): Promise<number | null> {
  const [row] = await query(
    `SELECT requests FROM sync.runs WHERE status = 'complete' AND kind = 'sync' AND options = $1 ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    [options],
  );
  return row?.[0] === null || row?.[0] === undefined ? null : Number(row[0]);
}

/** End of the last complete run without a filter, in epoch milliseconds; null if there was none. */
export async function readLastWholeRun(query: Query): Promise<number | null> {
  const [row] = await query(
    `SELECT CAST(epoch_ms(max(ended_at)) AS DOUBLE) FROM sync.runs WHERE status = 'complete' AND kind = 'sync'
       AND json_extract_string(options, '$.only') IS NULL AND json_extract_string(options, '$.range') IS NULL
       AND json_extract_string(options, '$.brands') IS NULL`,
  );
  return row?.[0] === null || row?.[0] === undefined ? null : Number(row[0]);
}
