import type { Query } from '../../warehouse/database.ts';
import type { MentionCounts } from '../numbers/definitions.ts';
import type { ChangeRow } from './candidates-numbers.ts';
import type { CountedTables } from './counted-tables.ts';
import {
  askedSql,
  collect,
  type Numbers,
  ownColumns,
  ROWS_MAX,
  rivalColumns,
  type Standing,
  TRACKED,
  tallyOf,
} from './evidence.ts';

/** Evidence from upstream's reports by prompt and by group of prompts. */
export interface PromptEvidence {
  readonly changes: ChangeRow[];
  readonly emptyChanges: ChangeRow[];
  /** Number of competitors in a prompt's row, and number of tracked competitors with mentions. */
  readonly tops: { readonly listed: number; readonly available: number }[];
  /** The row for responses without a group, or null if upstream has none; only for reports with such responses. */
  readonly ungrouped: (GroupName | null)[];
  /** Ids and names of the rows grouped by `branded`; `is` is true for the branded group. */
  readonly branded: { readonly name: GroupName; readonly is: boolean }[];
}

/** Id and name of a group's row. */
export interface GroupName {
  readonly groupId: string | null;
  readonly name: string | null;
}

/** Counts of one prompt, or of several. */
export interface Counted {
  readonly tally: MentionCounts;
  readonly labelled: number;
  readonly voices: number;
  /** Tracked competitors with mentions. */
  readonly available: number;
}

/** Counts by prompt in a report's range and in the preceding range. */
export interface Side {
  readonly now: ReadonlyMap<string, Counted>;
  readonly before: ReadonlyMap<string, Counted>;
  /** Whether the stored responses of the preceding range are as many as upstream's day counts. */
  readonly isBeforeWhole: boolean;
}

const nothing: Counted = {
  tally: { responses: 0, mentions: 0, positions: { count: 0, sum: 0 }, labels: {} },
  labelled: 0,
  voices: 0,
  available: 0,
};

/** Stored counts to compare with reports by prompt and by group. */
export interface PromptCounts {
  /** Counts by brand and first day of a report; `KEY` is the SQL expression of the same key. */
  readonly sides: ReadonlyMap<string, Side>;
  readonly evidence: PromptEvidence;
  /** Adds a reported row. Returns false if its number of responses differs from the stored one or is 0. */
  add(side: Side, pair: Pair, reported: Reported): boolean;
}

/** Counts responses by prompt in the reported ranges and in the ranges preceding them. */
export async function countPrompts(
  query: Query,
  numbers: Numbers,
  tables: CountedTables,
  labels: readonly string[],
): Promise<PromptCounts> {
  const evidence: PromptEvidence = {
    changes: [],
    emptyChanges: [],
    tops: [],
    ungrouped: [],
    branded: [],
  };
  const add = (side: Side, { now, before }: Pair, reported: Reported): boolean => {
    if (reported.responses !== now.tally.responses) {
      numbers.unlike += 1;
      return false;
    }
    if (now.tally.responses === 0) return false;
    const voices = reported.shareOfVoice === undefined ? null : now.voices;
    collect(numbers, labels, { ...now, voices, reported: { shareOfVoice: null, ...reported } });
    if (!side.isBeforeWhole) return true;
    const change = { now: now.tally, before: before.tally, reported: reported.visibilityChange };
    if (before.tally.responses === 0) evidence.emptyChanges.push(change);
    else if (change.reported !== null) evidence.changes.push(change);
    return true;
  };
  return { sides: await readSides(query, tables, labels), evidence, add };
}

/** Numbers that upstream reported for a prompt or group. */
export interface Reported extends Omit<Standing['reported'], 'shareOfVoice'> {
  readonly responses: number | null;
  readonly visibilityChange: number | null;
  /** Absent in reports that do not have it. */
  readonly shareOfVoice?: number | null;
}

/** Counts in a range and in the preceding one. */
export interface Pair {
  readonly now: Counted;
  readonly before: Counted;
}

/** Adds upstream's `metrics_prompts` rows to the evidence. */
export async function collectPrompts(query: Query, { sides, evidence, add }: PromptCounts): Promise<void> {
  const rows = await query(
    `SELECT ${KEY}, CAST(m.prompt_id AS VARCHAR) AS prompt_id, m.responses, m.visibility, m.visibility_change,
       m.avg_position, m.sentiment,
       CASE WHEN json_type(m.top_competitors) = 'ARRAY' THEN json_array_length(m.top_competitors) END AS tops
     FROM metrics_prompts m JOIN (${askedSql('metrics_prompts')}) a USING (brand_id, range_from, range_to)
     JOIN prompts p ON p.brand_id = m.brand_id AND p.id = m.prompt_id AND p._deleted_at IS NULL
     WHERE m._deleted_at IS NULL LIMIT ${ROWS_MAX}`,
  );
  for (const [key, id, responses, visibility, visibilityChange, avgPosition, sentiment, tops] of rows) {
    const side = sides.get(String(key));
    if (side === undefined) continue;
    const pair = { now: side.now.get(String(id)) ?? nothing, before: side.before.get(String(id)) ?? nothing };
    const reported = { responses, visibility, visibilityChange, avgPosition, sentiment } as Reported;
    const isLike = add(side, pair, reported);
    if (isLike && tops !== null) evidence.tops.push({ listed: Number(tops), available: pair.now.available });
  }
}

/** SQL expression for the brand and first day of a report `m`. */
export const KEY = `concat(CAST(m.brand_id AS VARCHAR), ' ', strftime(m.range_from, '%Y-%m-%d')) AS key`;

async function readSides(query: Query, tables: CountedTables, labels: readonly string[]): Promise<Map<string, Side>> {
  const slots = `slots AS (SELECT DISTINCT brand_id, range_from, range_to,
    range_from - CAST(range_to - range_from + 1 AS INTEGER) AS first
    FROM (SELECT * FROM (${askedSql('metrics_prompts')}) UNION ALL SELECT * FROM (${askedSql('metrics_groups')})))`;
  const join = `JOIN slots m ON t.brand_id = m.brand_id AND t.created_at >= m.first
    AND t.created_at < m.range_to + INTERVAL 1 DAY`;
  const place = `${KEY}, t.prompt_id, t.created_at >= m.range_from AS is_now`;
  const rows = await query(
    `WITH ${slots},
       own AS (SELECT ${place}, ${ownColumns(labels)} FROM ${tables.responses} t ${join} WHERE t._deleted_at IS NULL GROUP BY 1, 2, 3),
       rivals AS (SELECT ${place}, t.competitor_id, ${rivalColumns(tables, [])}, bool_or(c.id IS NOT NULL) AS tracked
         FROM ${tables.mentions} t ${TRACKED} ${join}
         WHERE t._deleted_at IS NULL AND t.competitor_id IS NOT NULL AND ${tables.isVoice} GROUP BY 1, 2, 3, 4),
       voiced AS (SELECT key, prompt_id, is_now, CAST(sum(mentions) AS BIGINT) AS voiced, count(*) FILTER (tracked) AS available
         FROM rivals GROUP BY 1, 2, 3)
     SELECT own.key, CAST(own.prompt_id AS VARCHAR) AS prompt, own.is_now, coalesce(voiced, 0) AS voiced,
       coalesce(available, 0) AS available, own.* EXCLUDE (key, prompt_id, is_now)
     FROM own LEFT JOIN voiced USING (key, prompt_id, is_now)`,
  );
  const sides = new Map<string, { now: Map<string, Counted>; before: Map<string, Counted>; held: number }>();
  for (const [key, prompt, isNow, voiced, available, ...counts] of rows) {
    const side = sides.get(String(key)) ?? { now: new Map(), before: new Map(), held: 0 };
    sides.set(String(key), side);
    const { tally, labelled } = tallyOf(counts, labels);
    const counted = { tally, labelled, voices: tally.mentions + Number(voiced), available: Number(available) };
    (isNow === true ? side.now : side.before).set(String(prompt), counted);
    if (isNow !== true) side.held += tally.responses;
  }
  const census = await readDayCounts(query, slots);
  return new Map([...sides].map(([key, side]) => [key, { ...side, isBeforeWhole: census.get(key) === side.held }]));
}

// Upstream's day counts summed over the range preceding each report; only if the sync covered all its days.
async function readDayCounts(query: Query, slots: string): Promise<Map<string, number>> {
  const rows = await query(
    `WITH ${slots}, days AS (
       SELECT brand_id, date, engine, max(responses) AS n FROM metrics_daily
       WHERE _deleted_at IS NULL AND row_mode = 'engine' GROUP BY 1, 2, 3)
     SELECT ${KEY}, CAST(coalesce(sum(d.n), 0) AS BIGINT) AS n FROM slots m
     LEFT JOIN days d ON d.brand_id = m.brand_id AND d.date >= m.first AND d.date < m.range_from
     WHERE EXISTS (SELECT 1 FROM sync.coverage c WHERE c.resource = 'metrics_daily' AND c.brand_id = m.brand_id
       AND c.range_from <= m.first AND c.range_to >= m.range_from - 1)
     GROUP BY 1`,
  );
  return new Map(rows.map(([key, n]) => [String(key), Number(n)]));
}
