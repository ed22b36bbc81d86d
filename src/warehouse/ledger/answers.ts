import type { Query, Session } from '../database.ts';
import { toTimestampText } from './ledger.ts';

/** Maximum length of a stored body in characters. */
const BODY_CHARACTERS_MAX = 256 * 1024;
/** Number of kept responses of comparisons, newest first. */
const COMPARED_MAX = 400;

/** Why a response is kept. */
export type AnswerPurpose = 'report' | 'probe' | 'compare';

/** A response of upstream that is kept as evidence for the calibration. */
export interface StoredAnswer {
  readonly resource: string;
  readonly brandId: string | null;
  /** Query parameters by their declared names, as sent. */
  readonly query: Readonly<Record<string, string>>;
  readonly purpose: AnswerPurpose;
  readonly status: number;
  /** The body as received; null if it was not JSON, or is longer than the limit. */
  readonly body: string | null;
  /** Epoch milliseconds. */
  readonly askedAt: number;
}

/**
 * Stores a response. A report replaces the kept report with the same parameters except the range, unless that is of the same run and ends
 * later: older days are read last, and may have no rows. Another response replaces the one to the same question. A body over 256 KiB is not
 * kept. Without a run it belongs to the newest one.
 */
export async function keepAnswer(session: Session, runId: string | null, answer: StoredAnswer): Promise<void> {
  const { resource, brandId, query, purpose, status, body, askedAt } = answer;
  const same = purpose === 'report' ? withoutRange(query) : query;
  const kept = await readKept(session, resource, brandId, purpose);
  const replaced = kept.filter((other) => {
    const theirs = purpose === 'report' ? withoutRange(other.query) : other.query;
    return textOf(theirs) === textOf(same);
  });
  const { to = '' } = query;
  const isEarlier = ({ query: other, runId: ofRun }: (typeof kept)[number]): boolean =>
    ofRun === runId && (other['to'] ?? '') > to;
  if (purpose === 'report' && replaced.some(isEarlier)) return;
  for (const { text } of replaced) {
    await session.run(
      `DELETE FROM sync.answers WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID) AND purpose = $3
         AND CAST(query AS VARCHAR) = $4`,
      [resource, brandId, purpose, text],
    );
  }
  await session.run(
    `INSERT INTO sync.answers SELECT $1, CAST($2 AS UUID), CAST($3 AS JSON), $4, $5, $6, CAST($7 AS TIMESTAMP),
       ${runId === null ? NEWEST_RUN : 'CAST($8 AS UUID)'}`,
    [
      resource,
      brandId,
      textOf(query),
      purpose,
      status,
      body !== null && body.length > BODY_CHARACTERS_MAX ? null : body,
      toTimestampText(askedAt),
      ...(runId === null ? [] : [runId]),
    ],
  );
  if (purpose !== 'compare') return;
  await session.run(
    `DELETE FROM sync.answers WHERE purpose = 'compare' AND rowid NOT IN (
       SELECT rowid FROM sync.answers WHERE purpose = 'compare' ORDER BY asked_at DESC, rowid DESC LIMIT ${COMPARED_MAX})`,
  );
}

const NEWEST_RUN = '(SELECT run_id FROM sync.runs ORDER BY started_at DESC, rowid DESC LIMIT 1)';

/** A kept response, as the calibration reads it. */
export interface KeptAnswer extends StoredAnswer {
  /** Whether the body is kept, and the run that asked, or one that resumed it, is the newest. The body of another response is null. */
  readonly isFresh: boolean;
}

/** Runs of one pass may be days apart; data of so long ago are not those of the newest run. */
const FRESH_HOURS = 12;

const FRESH_RUNS = `WITH newest AS (SELECT pass_id, started_at FROM sync.runs ORDER BY started_at DESC, rowid DESC LIMIT 1),
  fresh AS (SELECT r.run_id, r.started_at FROM sync.runs r, newest n WHERE r.pass_id = n.pass_id
    AND r.started_at >= n.started_at - INTERVAL ${FRESH_HOURS} HOUR)`;

/** Returns the start of the first run with fresh responses, epoch milliseconds; 0 if there was no run. */
export async function readPassStart(query: Query): Promise<number> {
  const [row] = await query(`${FRESH_RUNS} SELECT epoch_ms(min(started_at)) FROM fresh`);
  return Number(row?.[0] ?? 0);
}

/** Reads the kept responses of some resources, newest first. */
export async function readAnswers(query: Query, resources: readonly string[]): Promise<KeptAnswer[]> {
  const rows = await query(
    `${FRESH_RUNS} SELECT resource, CAST(brand_id AS VARCHAR), CAST(query AS VARCHAR), purpose, status, if(is_fresh, body, NULL),
       epoch_ms(asked_at), is_fresh
     FROM (SELECT rowid, *, run_id IN (SELECT run_id FROM fresh) AND body IS NOT NULL AS is_fresh FROM sync.answers) a
     WHERE list_contains(CAST($1 AS VARCHAR[]), resource) ORDER BY asked_at DESC, a.rowid DESC`,
    [resources],
  );
  return rows.map(([resource, brandId, text, purpose, status, body, askedAt, isFresh]) => ({
    resource: String(resource),
    brandId: brandId as string | null,
    query: JSON.parse(String(text)) as Record<string, string>,
    purpose: purpose as AnswerPurpose,
    status: Number(status),
    body: body as string | null,
    askedAt: Number(askedAt),
    isFresh: isFresh === true,
  }));
}

async function readKept(session: Session, resource: string, brandId: string | null, purpose: AnswerPurpose) {
  const rows = await session.all(
    `SELECT CAST(query AS VARCHAR) AS query, CAST(run_id AS VARCHAR) AS run FROM sync.answers
     WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID) AND purpose = $3`,
    [resource, brandId, purpose],
  );
  return rows.map(({ query, run }) => ({
    text: String(query),
    query: JSON.parse(String(query)) as Record<string, string>,
    runId: run as string | null,
  }));
}

function withoutRange(query: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'from' && name !== 'to'));
}

function textOf(query: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))));
}
