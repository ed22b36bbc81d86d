import { addDays } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';
import { responseSums } from '../model/response-sums.ts';
import type { MentionCounts } from '../numbers/definitions.ts';
import { changeRanges, nothing as noCounts } from '../numbers/report-request.ts';
import type { ChangeRow } from './candidates-numbers.ts';
import { type Conventions, pointChoices } from './conventions.ts';
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
  VOICE_SUMS,
  type Voices,
} from './evidence.ts';

/** Evidence from upstream's reports by prompt and by group of prompts. */
export interface PromptEvidence {
  /** Changes between two ranges with responses, by the earlier range. */
  readonly changes: Readonly<Record<ChangePeriod, ChangeRow[]>>;
  /** Changes from a range without responses, likewise. */
  readonly emptyChanges: Readonly<Record<ChangePeriod, ChangeRow[]>>;
  /** Number of competitors in a prompt's row, and number of tracked competitors with mentions. */
  readonly tops: { readonly listed: number; readonly available: number }[];
  /** The row for responses without a group, or null if upstream has none; only for reports with such responses. */
  readonly ungrouped: (GroupName | null)[];
  /** Ids and names of the rows grouped by `branded`; `is` is true for the branded group. */
  readonly branded: { readonly name: GroupName; readonly is: boolean }[];
}

export type ChangePeriod = Conventions['changePeriod'];

/** Id and name of a group's row. */
export interface GroupName {
  readonly groupId: string | null;
  readonly name: string | null;
}

/** Counts of one prompt, or of several. */
export interface Counted {
  readonly tally: MentionCounts;
  readonly labelled: number;
  readonly voices: Voices;
  /** Tracked competitors with mentions. */
  readonly available: number;
}

/** Counts by prompt in a report's range, and in the ranges that a change may compare. */
export interface Side {
  readonly now: ReadonlyMap<string, Counted>;
  /** Counts by period. Periods are left out if the stored responses of the earlier range do not match upstream's day counts. */
  readonly changes: ReadonlyMap<ChangePeriod, ChangeCounts>;
}

type Shown = Pick<MentionCounts, 'responses' | 'mentions'>;

/** Responses and mentions by prompt in the two ranges of a change. */
interface ChangeCounts {
  readonly now: Map<string, Shown>;
  readonly before: Map<string, Shown>;
}

/** Stored counts to compare with reports by prompt and by group. */
export interface PromptCounts {
  /** Counts by brand and first day of a report; `KEY` is the SQL expression of the same key. */
  readonly sides: ReadonlyMap<string, Side>;
  readonly evidence: PromptEvidence;
  /** Adds the reported row of some prompts. Returns false if its number of responses differs from the stored one or is 0. */
  add(side: Side, promptIds: readonly string[], reported: Reported): boolean;
}

/** Counts responses by prompt in the reported ranges and in those that a change may compare. */
export async function countPrompts(
  query: Query,
  numbers: Numbers,
  tables: CountedTables,
  labels: readonly string[],
): Promise<PromptCounts> {
  const evidence: PromptEvidence = {
    changes: { adjacent: [], weeks: [], halves: [] },
    emptyChanges: { adjacent: [], weeks: [], halves: [] },
    tops: [],
    ungrouped: [],
    branded: [],
  };
  const add: PromptCounts['add'] = (side, promptIds, reported) => {
    const now = sumOf(side, promptIds);
    if (reported.responses !== now.tally.responses) {
      numbers.unlike += 1;
      return false;
    }
    if (now.tally.responses === 0) return false;
    const voices = reported.shareOfVoice === undefined ? null : now.voices;
    collect(numbers, labels, { ...now, voices, reported: { shareOfVoice: null, ...reported } });
    for (const [period, counts] of side.changes) {
      const [later, before] = [counts.now, counts.before].map((shown) => shownOf(shown, promptIds));
      if (later === undefined || before === undefined || later.responses === 0) continue;
      const change = { now: later, before, reported: reported.visibilityChange };
      if (before.responses === 0) evidence.emptyChanges[period].push(change);
      else if (change.reported !== null) evidence.changes[period].push(change);
    }
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

/** Sums the counts of some prompts in the range of a report. */
export function sumOf({ now }: Side, promptIds: readonly string[]): Counted {
  const parts = promptIds.flatMap((id) => now.get(id) ?? []);
  const total = (of: (part: Counted) => number): number => parts.reduce((all, part) => all + of(part), 0);
  const labels = Object.keys(parts[0]?.tally.labels ?? {});
  return {
    tally: {
      responses: total(({ tally }) => tally.responses),
      mentions: total(({ tally }) => tally.mentions),
      positions: { count: total(({ tally }) => tally.positions.count), sum: total(({ tally }) => tally.positions.sum) },
      labels: Object.fromEntries(labels.map((label) => [label, total(({ tally }) => tally.labels[label] ?? 0)])),
    },
    labelled: total(({ labelled }) => labelled),
    voices: { tracked: total(({ voices }) => voices.tracked), all: total(({ voices }) => voices.all) },
    available: promptIds.length === 1 ? total(({ available }) => available) : 0,
  };
}

function shownOf(shown: ReadonlyMap<string, Shown>, promptIds: readonly string[]): MentionCounts {
  const parts = promptIds.flatMap((id) => shown.get(id) ?? []);
  const total = (name: keyof Shown): number => parts.reduce((all, part) => all + part[name], 0);
  return { ...noCounts, responses: total('responses'), mentions: total('mentions') };
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
    const ids = [String(id)];
    const reported = { responses, visibility, visibilityChange, avgPosition, sentiment } as Reported;
    const isLike = add(side, ids, reported);
    if (isLike && tops !== null) evidence.tops.push({ listed: Number(tops), available: sumOf(side, ids).available });
  }
}

/** SQL expression for the brand and first day of a report `m`. */
export const KEY = `concat(CAST(m.brand_id AS VARCHAR), ' ', strftime(m.range_from, '%Y-%m-%d')) AS key`;

async function readSides(query: Query, tables: CountedTables, labels: readonly string[]): Promise<Map<string, Side>> {
  const slots = `slots AS (SELECT DISTINCT brand_id, range_from, range_to
    FROM (SELECT * FROM (${askedSql('metrics_prompts')}) UNION ALL SELECT * FROM (${askedSql('metrics_groups')})))`;
  const join = `JOIN slots m ON t.brand_id = m.brand_id AND t.created_at >= m.range_from
    AND t.created_at < m.range_to + INTERVAL 1 DAY`;
  const rows = await query(
    `WITH ${slots},
       own AS (SELECT ${KEY}, t.prompt_id, ${ownColumns(labels)} FROM ${tables.responses} t ${join} WHERE t._deleted_at IS NULL GROUP BY 1, 2),
       rivals AS (SELECT ${KEY}, t.prompt_id, t.competitor_id, ${rivalColumns(tables, [])}, bool_or(c.id IS NOT NULL) AS tracked
         FROM ${tables.mentions} t ${TRACKED} ${join}
         WHERE t._deleted_at IS NULL AND t.competitor_id IS NOT NULL GROUP BY 1, 2, 3),
       voiced AS (SELECT key, prompt_id, ${VOICE_SUMS}, count(*) FILTER (tracked) AS available
         FROM rivals GROUP BY 1, 2)
     SELECT own.key, CAST(own.prompt_id AS VARCHAR) AS prompt, coalesce(voices_tracked, 0) AS voices_tracked,
       coalesce(voices_all, 0) AS voices_all, coalesce(available, 0) AS available, own.* EXCLUDE (key, prompt_id)
     FROM own LEFT JOIN voiced USING (key, prompt_id)`,
  );
  const asked = await query(
    `WITH ${slots} SELECT ${KEY}, strftime(m.range_from, '%Y-%m-%d'), strftime(m.range_to, '%Y-%m-%d') FROM slots m`,
  );
  const sides = new Map<string, Side & { readonly now: Map<string, Counted> }>();
  for (const [key, changes] of await readChanges(query, tables, asked as [string, string, string][])) {
    sides.set(key, { now: new Map(), changes });
  }
  for (const [key, prompt, tracked, all, available, ...counts] of rows) {
    const { tally, labelled } = tallyOf(counts, labels);
    const voices = { tracked: tally.mentions + Number(tracked), all: tally.mentions + Number(all) };
    const counted = { tally, labelled, voices, available: Number(available) };
    sides.get(String(key))?.now.set(String(prompt), counted);
  }
  return sides;
}

// Counts responses and mentions in the two ranges of a change, for each report and each choice of the earlier range.
async function readChanges(
  query: Query,
  tables: CountedTables,
  asked: readonly (readonly [key: string, from: string, to: string])[],
): Promise<Map<string, Map<ChangePeriod, ChangeCounts>>> {
  const found = new Map<string, Map<ChangePeriod, ChangeCounts>>(asked.map(([key]) => [key, new Map()]));
  if (asked.length === 0) return found;
  const values = asked.flatMap(([key, from, to]) =>
    pointChoices.changePeriod.flatMap((period) =>
      Object.entries(changeRanges({ from, to }, { changePeriod: period })).map(([side, range]) => {
        const days = `CAST(${literal(range.from)} AS DATE), CAST(${literal(addDays(range.to, 1))} AS DATE)`;
        return `(CAST(${literal(key.split(' ')[0] ?? '')} AS UUID), ${literal(key)}, ${literal(period)}, ${literal(side)}, ${days})`;
      }),
    ),
  );
  const ranges = `ranges (brand_id, key, period, side, first, after) AS (VALUES ${values.join(', ')})`;
  const rows = await query(
    `WITH ${ranges}
     SELECT r.key, r.period, r.side, CAST(t.prompt_id AS VARCHAR) AS prompt, count(*) AS responses,
       ${responseSums.mention_count('t.brand_mentioned')} AS mentions
     FROM ${tables.responses} t JOIN ranges r ON t.brand_id = r.brand_id AND t.created_at >= r.first AND t.created_at < r.after
     WHERE t._deleted_at IS NULL GROUP BY ALL`,
  );
  const held = new Map<string, number>();
  for (const [key, name, side, prompt, responses, mentions] of rows) {
    const period = name as ChangePeriod;
    const counts = found.get(String(key))?.get(period) ?? { now: new Map(), before: new Map() };
    found.get(String(key))?.set(period, counts);
    counts[side as keyof ChangeCounts].set(String(prompt), {
      responses: Number(responses),
      mentions: Number(mentions),
    });
    const place = `${String(key)} ${period}`;
    if (side === 'before') held.set(place, (held.get(place) ?? 0) + Number(responses));
  }
  const census = await readDayCounts(query, ranges);
  for (const [key, changes] of found) {
    for (const period of [...changes.keys()]) {
      if (census.get(`${key} ${period}`) !== (held.get(`${key} ${period}`) ?? 0)) changes.delete(period);
    }
  }
  return found;
}

// Upstream's day counts summed over the earlier range of each change; only if the sync covered all its days.
async function readDayCounts(query: Query, ranges: string): Promise<Map<string, number>> {
  const rows = await query(
    `WITH ${ranges}, days AS (
       SELECT brand_id, date, engine, max(responses) AS n FROM metrics_daily
       WHERE _deleted_at IS NULL AND row_mode = 'engine' GROUP BY 1, 2, 3)
     SELECT concat(r.key, ' ', r.period) AS place, CAST(coalesce(sum(d.n), 0) AS BIGINT) AS n FROM ranges r
     LEFT JOIN days d ON d.brand_id = r.brand_id AND d.date >= r.first AND d.date < r.after
     WHERE r.side = 'before' AND EXISTS (SELECT 1 FROM sync.coverage c WHERE c.resource = 'metrics_daily' AND c.brand_id = r.brand_id
       AND c.range_from <= r.first AND c.range_to >= r.after - 1)
     GROUP BY 1`,
  );
  return new Map(rows.map(([place, n]) => [String(place), Number(n)]));
}
