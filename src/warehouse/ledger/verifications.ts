import type { Resource } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, rangeCondition } from '../conditions.ts';
import type { Database, Query, Session } from '../database.ts';
import { quoted } from '../schema.ts';
import { stage, staged } from '../write/staging.ts';
import { toTimestampText } from './ledger.ts';

/** Value of `measure` in the row of a complete day. */
const DAY = 'day';

/** A verified number, or the row of a complete day. */
export interface Verified {
  /** Null for a number over a range of days. */
  readonly day: string | null;
  /** Null for the row of a complete day, whose numbers are response counts. */
  readonly measure: string | null;
  readonly subject: string | null;
  readonly upstream: number | null;
  readonly stored: number | null;
  /** Null if the comparison is not possible yet, such as for a day that is not over. */
  readonly agrees: boolean | null;
}

/** Verification result of a brand. */
export interface VerifiedBrand {
  readonly brandId: string;
  /** First and last verified day, both included; null if no day was verified. */
  readonly days: { readonly from: string; readonly to: string } | null;
  readonly rows: readonly Verified[];
}

const columns = [
  { name: 'day', kind: 'day' },
  { name: 'measure', kind: 'text' },
  { name: 'subject', kind: 'text' },
  { name: 'upstream', kind: 'number' },
  { name: 'stored', kind: 'number' },
  { name: 'agrees', kind: 'boolean' },
] as const;

/** Replaces the stored verifications of the same brands and days. `now` is epoch milliseconds. */
export async function writeVerifications(
  database: Database,
  brands: readonly VerifiedBrand[],
  now: number,
): Promise<void> {
  await database.transaction(async (session) => {
    for (const { brandId, days, rows } of brands) {
      await session.run(
        `DELETE FROM sync.verifications WHERE brand_id = CAST($1 AS UUID)
           AND (day IS NULL OR day BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE))`,
        [brandId, days?.from ?? null, days?.to ?? null],
      );
      if (rows.length === 0) continue;
      await session.run(
        `INSERT INTO sync.verifications
         SELECT CAST($2 AS TIMESTAMP), (SELECT run_id FROM sync.runs ORDER BY started_at DESC, rowid DESC LIMIT 1),
           CAST($3 AS UUID), s.day, coalesce(s.measure, '${DAY}'), s.subject, s.upstream, s.stored, s.agrees
         FROM ${staged(columns, '$1')} s`,
        [stage(rows.map((row) => ({ ...row }))), toTimestampText(now), brandId],
      );
    }
  });
}

/** Verification progress of a brand. */
export interface VerifiedThrough {
  readonly brandId: string;
  /** The last day of the unbroken run of agreeing days from the first one; null if the first day differs. */
  readonly through: string | null;
  /** Time of the last verification, epoch milliseconds. */
  readonly verifiedAt: number;
  /** Number of verified days that differ. */
  readonly differing: number;
}

/** Reads the verification progress of each brand; omits brands that were never verified. */
export async function readVerifiedThrough(query: Query): Promise<VerifiedThrough[]> {
  const rows = await query(
    `WITH days AS (
       SELECT brand_id, day, agrees, verified_at, day - min(day) OVER (PARTITION BY brand_id) AS place,
         row_number() OVER (PARTITION BY brand_id ORDER BY day) - 1 AS number,
         bool_and(coalesce(agrees, false)) OVER (PARTITION BY brand_id ORDER BY day) AS whole
       FROM sync.verifications WHERE measure = '${DAY}' AND day IS NOT NULL)
     SELECT CAST(brand_id AS VARCHAR), strftime(max(day) FILTER (whole AND place = number), '%Y-%m-%d'),
       CAST(epoch_ms(max(verified_at)) AS DOUBLE), CAST(count(*) FILTER (agrees = false) AS INTEGER)
     FROM days GROUP BY brand_id ORDER BY brand_id`,
  );
  return rows.map(([brandId, through, verifiedAt, differing]) => ({
    brandId: String(brandId),
    through: (through ?? null) as string | null,
    verifiedAt: Number(verifiedAt),
    differing: Number(differing),
  }));
}

/**
 * Prepares days of a brand for repair by a new read. Clears the row hashes, so that every row is written again; removes
 * duplicate rows, and children without a parent.
 */
export async function distrustDays(
  database: Database,
  resource: Resource,
  brandId: string,
  range: { readonly from: string; readonly to: string },
): Promise<void> {
  await database.transaction(async (session) => {
    for (const table of resource.derived) await distrustTable(session, table, brandId, range);
  });
}

async function distrustTable(
  session: Session,
  table: ResourceTable,
  brandId: string,
  range: { readonly from: string; readonly to: string },
): Promise<void> {
  const { extent, key, name } = table;
  if (extent.kind !== 'time') return;
  const within = (column: string, bindings: ReturnType<typeof createBindings>): string =>
    `t.brand_id = CAST(${bindings.bind(brandId)} AS UUID) AND ${rangeCondition(`t.${quoted(column)}`, range, bindings)}`;
  const time = extent.field;
  const twice = createBindings();
  await session.run(
    `DELETE FROM ${quoted(name)} WHERE rowid IN (SELECT found FROM (
       SELECT t.rowid AS found, row_number() OVER (PARTITION BY ${key.map((column) => `t.${quoted(column)}`).join(', ')}
         ORDER BY t."_deleted_at" IS NOT NULL, t.rowid) AS number
       FROM ${quoted(name)} t WHERE ${within(time, twice)}) WHERE number > 1)`,
    twice.values,
  );
  const hashed = createBindings();
  await session.run(`UPDATE ${quoted(name)} AS t SET "_row_hash" = '' WHERE ${within(time, hashed)}`, hashed.values);
  for (const child of table.children) {
    const repeated = child.columns.find(({ source }) => source.from === 'parent' && source.column === time);
    if (repeated === undefined) continue;
    const links = child.columns.flatMap(({ name: own, source }) =>
      source.from === 'parent' && key.includes(source.column) && child.parentKey.includes(own)
        ? [`p.${quoted(source.column)} = t.${quoted(own)}`]
        : [],
    );
    const orphans = createBindings();
    await session.run(
      `DELETE FROM ${quoted(child.name)} AS t WHERE ${within(repeated.name, orphans)}
         AND NOT EXISTS (SELECT 1 FROM ${quoted(name)} p WHERE ${links.join(' AND ')})`,
      orphans.values,
    );
  }
}
