import type { Query, Session } from '../database.ts';
import { toTimestampText } from './ledger.ts';

/** Maximum length of a kept body in characters. Longer ones are not kept. */
const BODY_CHARACTERS_MAX = 256 * 1024;
/** Number of kept responses to questions, newest first; kept reports are replaced by the next read. */
const QUESTIONS_MAX = 400;

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
  /** The body as received; null if it was not JSON. */
  readonly body: string | null;
  /** Epoch milliseconds. */
  readonly askedAt: number;
}

/**
 * Stores a response. A report replaces the kept report with the same parameters except the range; another response replaces the one
 * to the same question. Bodies over 256 KiB are not kept.
 */
export async function keepAnswer(session: Session, runId: string | null, answer: StoredAnswer): Promise<void> {
  const { resource, brandId, query, purpose, status, body, askedAt } = answer;
  const same = purpose === 'report' ? withoutRange(query) : query;
  const kept = await readKept(session.query, resource, brandId, purpose);
  const replaced = kept.filter((other) => {
    const theirs = purpose === 'report' ? withoutRange(other.query) : other.query;
    return textOf(theirs) === textOf(same);
  });
  for (const { text } of replaced) {
    await session.run(
      `DELETE FROM sync.answers WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID) AND purpose = $3
         AND CAST(query AS VARCHAR) = $4`,
      [resource, brandId, purpose, text],
    );
  }
  if (body !== null && body.length > BODY_CHARACTERS_MAX) return;
  await session.run(
    `INSERT INTO sync.answers SELECT $1, CAST($2 AS UUID), CAST($3 AS JSON), $4, $5, $6, CAST($7 AS TIMESTAMP), CAST($8 AS UUID)`,
    [resource, brandId, textOf(query), purpose, status, body, toTimestampText(askedAt), runId],
  );
  if (purpose === 'report') return;
  await session.run(
    `DELETE FROM sync.answers WHERE purpose <> 'report' AND rowid NOT IN (
       SELECT rowid FROM sync.answers WHERE purpose <> 'report' ORDER BY asked_at DESC, rowid DESC LIMIT ${QUESTIONS_MAX})`,
  );
}

/** Reads the kept responses of some resources, newest first. */
export async function readAnswers(query: Query, resources: readonly string[]): Promise<StoredAnswer[]> {
  const rows = await query(
    `SELECT resource, CAST(brand_id AS VARCHAR), CAST(query AS VARCHAR), purpose, status, body, epoch_ms(asked_at) FROM sync.answers
     WHERE list_contains(CAST($1 AS VARCHAR[]), resource) ORDER BY asked_at DESC, rowid DESC`,
    [resources],
  );
  return rows.map(([resource, brandId, text, purpose, status, body, askedAt]) => ({
    resource: String(resource),
    brandId: brandId as string | null,
    query: JSON.parse(String(text)) as Record<string, string>,
    purpose: purpose as AnswerPurpose,
    status: Number(status),
    body: body as string | null,
    askedAt: Number(askedAt),
  }));
}

async function readKept(query: Query, resource: string, brandId: string | null, purpose: AnswerPurpose) {
  const rows = await query(
    `SELECT CAST(query AS VARCHAR) FROM sync.answers
     WHERE resource = $1 AND brand_id IS NOT DISTINCT FROM CAST($2 AS UUID) AND purpose = $3`,
    [resource, brandId, purpose],
  );
  return rows.map(([text]) => ({ text: String(text), query: JSON.parse(String(text)) as Record<string, string> }));
}

function withoutRange(query: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'from' && name !== 'to'));
}

function textOf(query: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))));
}
