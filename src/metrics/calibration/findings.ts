import { isDeepStrictEqual } from 'node:util';
import type { Query, Session } from '../../warehouse/database.ts';
import { toTimestampText } from '../../warehouse/ledger/ledger.ts';
import { type Finding } from './candidates.ts';
import { conventionSchemas, type Conventions, defaultConventions } from './conventions.ts';

/** The finding of each convention. */
export type Findings = { readonly [Name in keyof Conventions]: Finding<Conventions[Name]> };

/**
 * Reads the conventions found by the last calibration, from a warehouse or a replica, and the names of the calibrated ones. Missing or
 * invalid ones get their default.
 */
export async function readCalibratedConventions(
  query: Query,
): Promise<{ conventions: Conventions; learned: ReadonlySet<string> }> {
  const stored: Record<string, unknown> = {};
  const learned = new Set<string>();
  for (const [name, value, source] of await query(
    'SELECT name, CAST(value AS VARCHAR), source FROM sync.calibration',
  )) {
    const schema = Object.hasOwn(conventionSchemas, String(name)) ? conventionSchemas[name as keyof Conventions] : null;
    const parsed = schema?.safeParse(parse(value));
    if (parsed?.success === true) stored[String(name)] = parsed.data;
    if (source === 'learned') learned.add(String(name));
  }
  return { conventions: { ...defaultConventions, ...stored }, learned };
}

/** Reads the conventions, see `readCalibratedConventions`. */
export async function readConventions(query: Query): Promise<Conventions> {
  return (await readCalibratedConventions(query)).conventions;
}

/** A finding of the last calibration. */
export interface StoredFinding extends Omit<Finding<unknown>, 'left'> {
  /** Epoch milliseconds. */
  readonly decidedAt: number;
}

/** Reads all findings of the last calibration, by convention. */
export async function readStoredFindings(query: Query): Promise<ReadonlyMap<string, StoredFinding>> {
  const rows = await query(
    `SELECT name, CAST(value AS VARCHAR), source, compared, agreed, note, coalesce(contradicted, false), CAST(candidates AS VARCHAR),
       confidence, epoch_ms(decided_at) FROM sync.calibration`,
  );
  return new Map(
    rows.map(([name, value, source, compared, agreed, note, contradicted, candidates, confidence, decidedAt]) => [
      String(name),
      {
        value: parse(value),
        source: source === 'learned' ? 'learned' : 'default',
        compared: Number(compared),
        agreed: Number(agreed),
        note: String(note ?? ''),
        contradicted: contradicted === true,
        candidates: (parse(candidates) ?? []) as StoredFinding['candidates'],
        confidence: confidence as number | null,
        decidedAt: Number(decidedAt),
      },
    ]),
  );
}

/** Conventions whose value may differ from upstream's. */
export type Doubts = ReadonlyMap<keyof Conventions, 'undetermined' | 'contradicted'>;

/**
 * Returns the conventions of the last calibration that are contradicted, or undetermined although it matters: a point that every
 * candidate explains in all compared responses does not matter for them.
 */
export async function readDoubts(query: Query): Promise<Doubts> {
  const doubts = new Map<keyof Conventions, 'undetermined' | 'contradicted'>();
  for (const [name, { source, contradicted, compared, candidates }] of await readStoredFindings(query)) {
    if (source === 'learned') continue;
    const isAlike = compared > 0 && candidates.every(({ agreed }) => agreed === compared);
    if (contradicted) doubts.set(name as keyof Conventions, 'contradicted');
    else if (!isAlike) doubts.set(name as keyof Conventions, 'undetermined');
  }
  return doubts;
}

/** Whether calibration has ever run on this warehouse. */
export async function hasFindings(session: Session): Promise<boolean> {
  return (await session.all('SELECT 1 FROM sync.calibration LIMIT 1')).length > 0;
}

/** Replaces the stored findings. `now` is epoch milliseconds; a finding with the same value and state keeps its time. */
export async function writeFindings(session: Session, findings: Findings, now: number): Promise<void> {
  const stored = await readStoredFindings(session.query);
  await session.run('DELETE FROM sync.calibration');
  const rows = Object.entries(findings).map(([name, finding]) => {
    const { value, source, contradicted, compared, agreed, note, confidence, candidates } = finding;
    const before = stored.get(name);
    const isSame =
      before?.source === source && before.contradicted === contradicted && isDeepStrictEqual(before.value, value);
    return {
      ...{ name, source, contradicted, compared, agreed, note, confidence },
      value: JSON.stringify(value),
      candidates: JSON.stringify(candidates),
      decidedAt: toTimestampText(isSame ? before.decidedAt : now),
    };
  });
  await session.run(
    `INSERT INTO sync.calibration
     SELECT f.name, CAST(f.value AS JSON), f.source, f.compared, f.agreed, f.note, CAST(f."decidedAt" AS TIMESTAMP),
       CAST(f.candidates AS JSON), f.confidence, f.contradicted
     FROM (SELECT unnest(from_json(CAST($1 AS JSON), '[{"name":"VARCHAR","value":"VARCHAR","source":"VARCHAR","compared":"BIGINT",
       "agreed":"BIGINT","note":"VARCHAR","candidates":"VARCHAR","confidence":"DOUBLE",
       "contradicted":"BOOLEAN","decidedAt":"VARCHAR"}]')) AS f)`,
    [JSON.stringify(rows)],
  );
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
