import type { Query, Session } from '../../warehouse/database.ts';
import { toTimestampText } from '../../warehouse/ledger/ledger.ts';
import type { Finding } from './candidates.ts';
import { type Conventions, defaultConventions, type PointName } from './conventions.ts';
import { conventionSchemas } from './overrides.ts';

/** The finding of each convention. */
export type Findings = { readonly [Name in keyof Conventions]: Finding<Conventions[Name]> };

/** The findings from numbers that upstream reported; whole responses decide the other conventions. */
export type ReportedFindings = Omit<Findings, PointName>;

/**
 * Reads the conventions found by the last calibration, from a warehouse or a replica. Missing or invalid ones get their
 * default.
 */
export async function readConventions(query: Query): Promise<Conventions> {
  return conventionsIn(query, await tableIn(query));
}

/** Reads the conventions, and the names of the calibrated ones. Cheaper than two calls, because the list of tables is slow to read. */
export async function readCalibratedConventions(
  query: Query,
): Promise<{ conventions: Conventions; learned: ReadonlySet<string> }> {
  const table = await tableIn(query);
  return { conventions: await conventionsIn(query, table), learned: await calibratedIn(query, table) };
}

async function conventionsIn(query: Query, table: string | null): Promise<Conventions> {
  if (table === null) return defaultConventions;
  const stored: Record<string, unknown> = {};
  for (const [name, value] of await query(`SELECT name, CAST(value AS VARCHAR) FROM sync.${table}`)) {
    const schema = Object.hasOwn(conventionSchemas, String(name)) ? conventionSchemas[name as keyof Conventions] : null;
    const parsed = schema?.safeParse(parse(value));
    if (parsed?.success === true) stored[String(name)] = parsed.data;
  }
  return { ...defaultConventions, ...stored };
}

// The table of the findings; null in a replica of schema version 1. Replicas up to version 4 have it as `conventions`.
async function tableIn(query: Query): Promise<string | null> {
  const [found] = await query(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'sync'
       AND table_name IN ('calibration', 'conventions')`,
  );
  return found === undefined ? null : String(found[0]);
}

/** A finding of the last calibration. */
export interface StoredFinding
  extends Pick<Finding<unknown>, 'value' | 'source' | 'compared' | 'agreed' | 'note' | 'contradicted'> {
  readonly candidates: NonNullable<Finding<unknown>['candidates']>;
  /** Null unless the value was learned. */
  readonly confidence: number | null;
  /** Epoch milliseconds. */
  readonly decidedAt: number;
}

/** Reads all findings of the last calibration, by convention. None in a replica of an earlier schema version. */
export async function readStoredFindings(query: Query): Promise<ReadonlyMap<string, StoredFinding>> {
  const [current] = await query(
    `SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'sync'
       AND table_name = 'calibration' AND column_name = 'candidates'`,
  );
  if (current === undefined) return new Map();
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

/** Returns the names of the calibrated conventions. */
export async function readCalibrated(query: Query): Promise<ReadonlySet<string>> {
  return calibratedIn(query, await tableIn(query));
}

async function calibratedIn(query: Query, table: string | null): Promise<ReadonlySet<string>> {
  if (table === null) return new Set();
  const rows = await query(`SELECT name FROM sync.${table} WHERE source = 'learned'`);
  return new Set(rows.map(([name]) => String(name)));
}

/** Whether calibration has ever run on this warehouse. */
export async function hasFindings(session: Session): Promise<boolean> {
  return (await session.all('SELECT 1 FROM sync.calibration LIMIT 1')).length > 0;
}

/** Replaces the stored findings. `now` is epoch milliseconds. */
export async function writeFindings(session: Session, findings: Findings, now: number): Promise<void> {
  await session.run('DELETE FROM sync.calibration');
  const rows = Object.entries(findings).map(([name, { value, candidates, alike: _, ...finding }]) => ({
    ...finding,
    name,
    value: JSON.stringify(value),
    candidates: candidates === undefined ? null : JSON.stringify(candidates),
  }));
  await session.run(
    `INSERT INTO sync.calibration
     SELECT f.name, CAST(f.value AS JSON), f.source, f.compared, f.agreed, f."largestError", f.note, CAST($2 AS TIMESTAMP),
       CAST(f.candidates AS JSON), f.confidence, f.contradicted
     FROM (SELECT unnest(from_json(CAST($1 AS JSON), '[{"name":"VARCHAR","value":"VARCHAR","source":"VARCHAR","compared":"BIGINT",
       "agreed":"BIGINT","largestError":"DOUBLE","note":"VARCHAR","candidates":"VARCHAR","confidence":"DOUBLE",
       "contradicted":"BOOLEAN"}]')) AS f)`,
    [JSON.stringify(rows), toTimestampText(now)],
  );
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
