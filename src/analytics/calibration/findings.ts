import type { Query, Session } from '../../warehouse/database.ts';
import { toTimestampText } from '../../warehouse/ledger/ledger.ts';
import type { Finding } from './candidates.ts';
import { type Conventions, defaultConventions } from './conventions.ts';
import { conventionSchemas } from './overrides.ts';

/** The finding of each convention. */
export type Findings = { readonly [Name in keyof Conventions]: Finding<Conventions[Name]> };

/**
 * Reads the conventions found by the last calibration, from a warehouse or a replica. Missing or invalid ones get their
 * default.
 */
export async function readConventions(query: Query): Promise<Conventions> {
  const found = await query(
    `SELECT count(*) FROM duckdb_tables()
     WHERE database_name = current_database() AND schema_name = 'sync' AND table_name = 'conventions'`,
  );
  // A replica written by an older version lacks the table.
  if (Number(found[0]?.[0]) === 0) return defaultConventions;
  const stored: Record<string, unknown> = {};
  for (const [name, value] of await query('SELECT name, CAST(value AS VARCHAR) FROM sync.conventions')) {
    const schema = Object.hasOwn(conventionSchemas, String(name)) ? conventionSchemas[name as keyof Conventions] : null;
    const parsed = schema?.safeParse(parse(value));
    if (parsed?.success === true) stored[String(name)] = parsed.data;
  }
  return { ...defaultConventions, ...stored };
}

/** Returns the names of the calibrated conventions. */
export async function readCalibrated(query: Query): Promise<ReadonlySet<string>> {
  const rows = await query("SELECT name FROM sync.conventions WHERE source = 'learned'");
  return new Set(rows.map(([name]) => String(name)));
}

/** Whether calibration has ever run on this warehouse. */
export async function hasFindings(session: Session): Promise<boolean> {
  return (await session.all('SELECT 1 FROM sync.conventions LIMIT 1')).length > 0;
}

/** Replaces the stored findings. `now` is epoch milliseconds. */
export async function writeFindings(session: Session, findings: Findings, now: number): Promise<void> {
  await session.run('DELETE FROM sync.conventions');
  for (const [name, finding] of Object.entries(findings)) {
    await session.run(
      `INSERT INTO sync.conventions
       SELECT $1, CAST($2 AS JSON), $3, $4, $5, CAST($6 AS DOUBLE), $7, CAST($8 AS TIMESTAMP)`,
      [
        name,
        JSON.stringify(finding.value),
        finding.source,
        finding.compared,
        finding.agreed,
        finding.largestError,
        finding.note,
        toTimestampText(now),
      ],
    );
  }
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
