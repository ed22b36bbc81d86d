import { createBindings } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { type ChangeUnits, unitTables } from './change-units.ts';

/** Maximum number of responses that a cause cites as evidence. */
const RESPONSES_MAX = 5;

/** Selects the responses that show a cause. */
export interface EvidenceWanted {
  readonly isAfter: boolean;
  /** Select responses with a value above (1) or below (-1) the reference. */
  readonly sign: number;
  readonly reference: number;
  /** Only responses of this engine. */
  readonly engine?: string | null;
  /** Only responses to these prompts. */
  readonly prompts?: readonly string[];
  /** Only responses that mention this competitor, or cite this domain. */
  readonly competitorId?: string;
  readonly domain?: string;
}

/**
 * Returns the ids of at most 5 responses for each selection: those that differ most from the reference in its direction, newest first. For a
 * loss of visibility these are responses without the brand.
 */
export async function readEvidence(
  query: Query,
  units: ChangeUnits,
  wanted: readonly EvidenceWanted[],
): Promise<string[][]> {
  if (wanted.length === 0) return [];
  const bindings = createBindings();
  const selects = wanted.map((one, index) => {
    const sign = bindings.bind(one.sign < 0 ? -1 : 1);
    const difference = `CAST(${sign} AS DOUBLE) * (y - CAST(${bindings.bind(one.reference)} AS DOUBLE) * x)`;
    const conditions = [
      `is_before = ${!one.isAfter}`,
      `${difference} > 0`,
      ...(one.engine === undefined ? [] : [`engine IS NOT DISTINCT FROM ${bindings.bind(one.engine)}`]),
      ...(one.prompts === undefined
        ? []
        : [`list_contains(${bindings.bind(one.prompts)}, CAST(prompt_id AS VARCHAR))`]),
      ...(one.competitorId === undefined
        ? []
        : [
            `response_id IN (SELECT response_id FROM named WHERE competitor_id = CAST(${bindings.bind(one.competitorId)} AS UUID))`,
          ]),
      ...(one.domain === undefined
        ? []
        : [`response_id IN (SELECT response_id FROM cited WHERE domain = ${bindings.bind(one.domain)})`]),
    ];
    return `SELECT ${index} AS cause, response_id, row_number() OVER (ORDER BY ${difference} DESC, created_at DESC, response_id) AS place
      FROM units WHERE ${conditions.join(' AND ')} QUALIFY place <= ${RESPONSES_MAX}`;
  });
  const rows = await query(
    `${unitTables(units)} SELECT cause, CAST(response_id AS VARCHAR) FROM (${selects.join(' UNION ALL ')}) ORDER BY cause, place`,
    bindings.values,
  );
  return wanted.map((_, index) => rows.filter(([cause]) => Number(cause) === index).map(([, id]) => String(id)));
}
