import { isDeepStrictEqual } from 'node:util';
import type { Query, Session } from '../../warehouse/database.ts';
import { toTimestampText } from '../../warehouse/ledger/ledger.ts';
import { type Finding } from './candidates.ts';
import { conventionSchemas, type Conventions, defaultConventions } from './conventions.ts';

/** The finding of each convention. */
export type Findings = { readonly [Name in keyof Conventions]: Finding<Conventions[Name]> };

/** A finding of the last calibration. */
export interface StoredFinding extends Omit<Finding<unknown>, 'left'> {
  /** Epoch milliseconds. */
  readonly decidedAt: number;
}

/** Reads all findings of the last calibration by convention, from a warehouse or a replica, without those of another version of the points. */
export async function readStoredFindings(query: Query): Promise<ReadonlyMap<string, StoredFinding>> {
  const rows = await query(
    `SELECT name, CAST(value AS VARCHAR), source, compared, agreed, note, coalesce(contradicted, false), CAST(candidates AS VARCHAR),
       confidence, epoch_ms(decided_at) FROM sync.calibration`,
  );
  return new Map(
    rows.flatMap(([name, text, source, compared, agreed, note, contradicted, candidates, confidence, decidedAt]) => {
      const schema = Object.hasOwn(conventionSchemas, String(name))
        ? conventionSchemas[name as keyof Conventions]
        : null;
      const value = schema?.safeParse(parse(text));
      if (value?.success !== true) return [];
      const finding: StoredFinding = {
        value: value.data,
        source: source === 'learned' ? 'learned' : 'default',
        compared: Number(compared),
        agreed: Number(agreed),
        note: String(note ?? ''),
        contradicted: contradicted === true,
        candidates: (parse(candidates) ?? []) as StoredFinding['candidates'],
        confidence: confidence as number | null,
        decidedAt: Number(decidedAt),
      };
      return [[String(name), finding]];
    }),
  );
}

/** Reads the conventions of the last calibration and the names of the calibrated ones. Conventions without a finding have their default. */
export async function readCalibratedConventions(
  query: Query,
): Promise<{ conventions: Conventions; learned: ReadonlySet<string> }> {
  const findings = [...(await readStoredFindings(query))];
  const values = Object.fromEntries(findings.map(([name, { value }]) => [name, value]));
  const learned = findings.filter(([, { source }]) => source === 'learned').map(([name]) => name);
  return { conventions: { ...defaultConventions, ...values }, learned: new Set(learned) };
}

/** Reads the conventions, see `readCalibratedConventions`. */
export async function readConventions(query: Query): Promise<Conventions> {
  return (await readCalibratedConventions(query)).conventions;
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
