import type { Query } from '../../warehouse/database.ts';
import { type ChangeUnits, unitTables } from './change-units.ts';
import { addSums, type Cell, noSums, type Sides, type Sums } from './sums.ts';

/** Maximum number of competitors, and of domains, that are counted; the most frequent are kept. */
const COMPANIONS_MAX = 200;
const SUMS = ['u.y', 'u.x', 'u.y * u.y', 'u.x * u.y', 'u.x * u.x'].map((term) => `CAST(sum(${term}) AS DOUBLE)`);
const COUNTS = `u.is_before, count(*) AS responses, count(u.x), ${SUMS.join(', ')}`;

/** A mention of a competitor, or a citation of a domain, in a response. */
export type Companion = 'competitor' | 'domain';

/** Responses of both periods, and the sums of those that have data on the metric. */
export interface Counted extends Sides {
  readonly responses: { readonly before: number; readonly after: number };
}

/** Counts for the explanation of a change. */
export interface Counts {
  readonly cells: readonly Cell[];
  readonly total: Counted;
  /** The responses with a companion, by its id. */
  readonly companions: Readonly<Record<Companion, ReadonlyMap<string, Counted>>>;
}

/** Counts the responses of both periods by prompt and engine, and those with each competitor and domain. */
export async function readCounts(query: Query, units: ChangeUnits): Promise<Counts> {
  // A competitor is listed once per response, a domain as often as it is cited.
  const present: Readonly<Record<Companion, string>> = {
    competitor: 'SELECT response_id, competitor_id AS id FROM named',
    domain: 'SELECT DISTINCT response_id, domain AS id FROM cited WHERE domain IS NOT NULL',
  };
  const companion = (kind: Companion): string =>
    `SELECT '${kind}', CAST(id AS VARCHAR), NULL, * EXCLUDE (id) FROM ${kind}s
     WHERE id IN (SELECT id FROM ${kind}s GROUP BY id ORDER BY sum(responses) DESC, id LIMIT ${COMPANIONS_MAX})`;
  const grouped = (kind: Companion): string =>
    `${kind}s AS MATERIALIZED (SELECT p.id, ${COUNTS} FROM (${present[kind]}) p JOIN units u USING (response_id) GROUP BY p.id, u.is_before)`;
  const rows = await query(
    `${unitTables(units)}, ${grouped('competitor')}, ${grouped('domain')}
     FROM (
       SELECT 'cell' AS kind, CAST(u.prompt_id AS VARCHAR) AS id, u.engine AS engine, ${COUNTS} FROM units u
       GROUP BY u.prompt_id, u.engine, u.is_before
       UNION ALL ${companion('competitor')} UNION ALL ${companion('domain')}
     ) ORDER BY kind, id, engine, is_before`,
  );
  return countsOf(rows);
}

/** Sums the responses of both periods that have data on the metric, which takes a fraction of the time of `readCounts`. */
export async function readTotal(query: Query, units: ChangeUnits): Promise<Sides> {
  const sql = `${unitTables(units)} SELECT 'cell', NULL, NULL, ${COUNTS} FROM units u GROUP BY u.is_before`;
  return countsOf(await query(sql)).total;
}

function countsOf(rows: readonly unknown[][]): Counts {
  const [cells, competitor, domain] = ['cell', 'competitor', 'domain'].map((kind) =>
    countedByKey(rows.filter((row) => row[0] === kind)),
  ) as [Map<string, Keyed>, Map<string, Keyed>, Map<string, Keyed>];
  const byId = (counted: Map<string, Keyed>): Map<string, Counted> =>
    new Map([...counted.values()].map(({ id, ...rest }) => [String(id), rest]));
  const all = [...cells.values()];
  return {
    cells: all.map(({ id, engine, before, after }) => ({ promptId: id, engine, before, after })),
    total: all.reduce((total: Counted, one) => addCounted(total, one), nothing),
    companions: { competitor: byId(competitor), domain: byId(domain) },
  };
}

interface Keyed extends Counted {
  readonly id: string | null;
  readonly engine: string | null;
}

function countedByKey(rows: readonly unknown[][]): Map<string, Keyed> {
  const counted = new Map<string, Keyed>();
  for (const [, id, engine, isBefore, responses, ...sums] of rows) {
    const key = JSON.stringify([id, engine]);
    const one = counted.get(key) ?? { ...nothing, id: id as string | null, engine: engine as string | null };
    const side = isBefore === true ? 'before' : 'after';
    counted.set(key, {
      ...one,
      [side]: toSums(sums),
      responses: { ...one.responses, [side]: Number(responses) },
    });
  }
  return counted;
}

const nothing: Counted = { before: noSums, after: noSums, responses: { before: 0, after: 0 } };

function addCounted(a: Counted, b: Counted): Counted {
  return {
    before: addSums([a.before, b.before]),
    after: addSums([a.after, b.after]),
    responses: {
      before: a.responses.before + b.responses.before,
      after: a.responses.after + b.responses.after,
    },
  };
}

function toSums([n, ...values]: readonly unknown[]): Sums {
  const [y = 0, x = 0, yy = 0, xy = 0, xx = 0] = values.map((value) => Number(value ?? 0));
  return { n: Number(n), y, x, yy, xy, xx };
}
