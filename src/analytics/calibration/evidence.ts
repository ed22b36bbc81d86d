import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';
import { responseSums } from '../model/response-sums.ts';
import type { MentionCounts } from '../numbers/definitions.ts';
import type { PositionRow, ShareRow } from './candidates-numbers.ts';
import type { CountedTables } from './counted-tables.ts';
import type { LabelRow } from './label-weights.ts';

/** Maximum number of rows of each kind to compare, newest first. */
export const ROWS_MAX = 5_000;
/** Maximum number of brands whose range reports are compared, last synced first. */
const BRANDS_MAX = 25;
/** Number of days, counted back from the newest, whose reports are compared. */
const DAYS_MAX = 92;
/** Maximum number of sentiment labels to distinguish, most frequent first. */
const LABELS_MAX = 12;

/** Mentions of the brand and of all competitors, or only of those that are tracked now: the possible wholes of share of voice. */
export type Voices = Readonly<Record<(typeof VOICES)[number], number>>;

export const VOICES = ['tracked', 'all'] as const;

/** Stored counts of an entity, and the numbers upstream reported for it. */
export interface Standing {
  readonly tally: MentionCounts;
  /** Mentions with any label, including labels beyond `LABELS_MAX`. */
  readonly labelled: number;
  /** Mentions of the brand and its competitors; null if share of voice is not reported. */
  readonly voices: Voices | null;
  readonly reported: {
    readonly visibility: number | null;
    readonly shareOfVoice: number | null;
    readonly avgPosition: number | null;
    readonly sentiment: number | null;
  };
}

/** Numbers that upstream reported, each with the counts it can be computed from. */
export interface Numbers {
  readonly visibility: ShareRow[];
  readonly shareOfVoice: Readonly<Record<keyof Voices, ShareRow[]>>;
  readonly avgPosition: PositionRow[];
  /** The last count is that of mentions without a label. */
  readonly sentiment: LabelRow[];
  /** Visibility without responses, and share of voice without mentions. */
  readonly emptyShare: (number | null)[];
  readonly emptyVoice: (number | null)[];
  /** Mean position and mean sentiment without mentions. */
  readonly emptyMean: (number | null)[];
  readonly emptySentiment: (number | null)[];
  /** Mean sentiment of mentions without a label. */
  readonly unlabelledSentiment: (number | null)[];
  /** Number of rows whose counts differ from the stored ones; calibration skips them. */
  unlike: number;
}

/** Reads the sentiment labels that occur since `since`, most frequent first. */
export async function readLabels(query: Query, since: string): Promise<string[]> {
  const rows = await query(
    `SELECT label FROM (
       SELECT brand_sentiment AS label, count(*) AS n FROM responses
       WHERE _deleted_at IS NULL AND brand_mentioned AND created_at >= CAST($1 AS DATE) GROUP BY 1
       UNION ALL
       SELECT sentiment AS label, count(*) AS n FROM response_competitors
       WHERE _deleted_at IS NULL AND created_at >= CAST($1 AS DATE) GROUP BY 1)
     WHERE label IS NOT NULL GROUP BY label ORDER BY sum(n) DESC, label LIMIT ${LABELS_MAX}`,
    [since],
  );
  return rows.map(([label]) => String(label));
}

/** Returns the first day to compare as `YYYY-MM-DD`, or null if there are no daily rows. */
export async function readSince(query: Query): Promise<string | null> {
  const [row] = await query(
    `SELECT strftime(max(date) - ${DAYS_MAX - 1}, '%Y-%m-%d') FROM metrics_daily WHERE _deleted_at IS NULL`,
  );
  return (row?.[0] ?? null) as string | null;
}

/** Creates an empty collection. */
export function createNumbers(): Numbers {
  return {
    visibility: [],
    shareOfVoice: { tracked: [], all: [] },
    avgPosition: [],
    sentiment: [],
    emptyShare: [],
    emptyVoice: [],
    emptyMean: [],
    emptySentiment: [],
    unlabelledSentiment: [],
    unlike: 0,
  };
}

/** Adds the numbers of a standing. Skips nulls that upstream reports although the number can be computed. */
export function collect(numbers: Numbers, labels: readonly string[], standing: Standing): void {
  const { tally, labelled, voices, reported } = standing;
  if (tally.responses === 0) numbers.emptyShare.push(reported.visibility);
  else if (reported.visibility !== null) {
    numbers.visibility.push({ part: tally.mentions, whole: tally.responses, reported: reported.visibility });
  }
  if (voices?.all === 0) numbers.emptyVoice.push(reported.shareOfVoice);
  for (const name of VOICES) {
    const whole = voices?.[name] ?? 0;
    if (whole === 0 || reported.shareOfVoice === null) continue;
    numbers.shareOfVoice[name].push({ part: tally.mentions, whole, reported: reported.shareOfVoice });
  }
  const { count, sum } = tally.positions;
  if (count === 0) numbers.emptyMean.push(reported.avgPosition);
  else if (reported.avgPosition !== null) {
    numbers.avgPosition.push({ sum, count, mentions: tally.mentions, reported: reported.avgPosition });
  }
  const times = labels.map((label) => tally.labels[label] ?? 0);
  const unlabelled = tally.mentions - labelled;
  if (tally.mentions === 0) numbers.emptySentiment.push(reported.sentiment);
  else if (labelled === 0) numbers.unlabelledSentiment.push(reported.sentiment);
  if (reported.sentiment !== null && times.reduce((a, b) => a + b, 0) === labelled && tally.mentions > 0) {
    numbers.sentiment.push({ times: [...times, unlabelled], reported: reported.sentiment });
  }
}

/** Collects upstream's numbers for brands and competitors: over a range, by day and engine, and by day. */
export async function collectStandings(
  query: Query,
  numbers: Numbers,
  {
    tables,
    labels,
    since,
  }: { readonly tables: CountedTables; readonly labels: readonly string[]; readonly since: string },
): Promise<void> {
  const ranges = `SELECT m.brand_id, m.range_from, NULL AS engine, m.competitor_id, m.responses,
      CAST(NULL AS BIGINT) AS mentions, m.visibility, m.share_of_voice, m.avg_position, m.sentiment, m.range_to
    FROM metrics m JOIN (${askedSql('metrics')}) USING (brand_id, range_from, range_to)
    WHERE m._deleted_at IS NULL LIMIT ${ROWS_MAX}`;
  const inRange = `JOIN (SELECT DISTINCT brand_id, range_from, range_to FROM reported) s ON t.brand_id = s.brand_id
    AND t.created_at >= s.range_from AND t.created_at < s.range_to + INTERVAL 1 DAY`;
  const ofRanges = { reported: ranges, join: inRange, day: 's.range_from', engine: 'NULL' };
  await collectFrom(query, numbers, labels, standingsSql(tables, ofRanges, labels));
  for (const [mode, engine] of [
    ['engine', 't.engine'],
    ['none', 'NULL'],
  ] as const) {
    const days = `SELECT brand_id, date AS range_from, ${mode === 'none' ? 'NULL AS engine' : 'engine'}, competitor_id,
        responses, mentions, visibility, share_of_voice, avg_position, sentiment
      FROM metrics_daily WHERE _deleted_at IS NULL AND row_mode = '${mode}' AND date >= CAST(${literal(since)} AS DATE)
      ORDER BY date DESC LIMIT ${ROWS_MAX}`;
    const onDay = `JOIN (SELECT min(range_from) AS first FROM reported) s ON t.created_at >= s.first
      AND t.created_at >= CAST(${literal(since)} AS DATE)`;
    const ofDays = { reported: days, join: onDay, day: 'CAST(t.created_at AS DATE)', engine };
    await collectFrom(query, numbers, labels, standingsSql(tables, ofDays, labels));
  }
}

/** Returns SQL for the newest completely read range of a report per brand: brand_id, range_from, range_to. */
export function askedSql(resource: string): string {
  return `SELECT c.brand_id, c.range_from, c.range_to FROM sync.coverage c JOIN brands b ON b.id = c.brand_id
    WHERE b._deleted_at IS NULL AND c.resource = ${literal(resource)} AND c.range_from IS NOT NULL AND c.range_to IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY c.brand_id ORDER BY c.closed_at DESC) = 1
    ORDER BY c.closed_at DESC LIMIT ${BRANDS_MAX}`;
}

/** Returns SQL columns that count responses `t` for the brand itself; `tallyOf` reads them. */
export function ownColumns(labels: readonly string[]): string {
  const { mention_count, placed_count, position_sum, labelled_count, label_count } = responseSums;
  const [mentioned, position, sentiment] = ['t.brand_mentioned', 't.brand_position', 't.brand_sentiment'];
  return [
    'count(*) AS responses',
    `${mention_count(mentioned)} AS mentions`,
    `${placed_count(mentioned, position)} AS position_count`,
    `${position_sum(mentioned, position)} AS position_sum`,
    `${labelled_count(mentioned, sentiment)} AS labelled`,
    ...labels.map((label, index) => `${label_count(mentioned, sentiment, literal(label))} AS l${index}`),
  ].join(', ');
}

/** Returns SQL columns that count mentions `t` of a competitor. */
export function rivalColumns({ mentionCount }: CountedTables, labels: readonly string[]): string {
  return `${mentionCount} AS mentions, count(*) > count(DISTINCT t.response_id) AS repeats, count(t.position) AS position_count,
    CAST(coalesce(sum(t.position), 0) AS BIGINT) AS position_sum, count(t.sentiment) AS labelled${labels
      .map((label, index) => `, count(*) FILTER (t.sentiment = ${literal(label)}) AS l${index}`)
      .join('')}`;
}

/** SQL columns that sum mentions of competitors by `tracked`. */
export const VOICE_SUMS = `CAST(coalesce(sum(mentions) FILTER (tracked), 0) AS BIGINT) AS voices_tracked,
  CAST(sum(mentions) AS BIGINT) AS voices_all`;

/** SQL join of mentions `t` with the currently tracked competitors. */
export const TRACKED = `LEFT JOIN competitors c ON c.brand_id = t.brand_id AND c.id = t.competitor_id AND c._deleted_at IS NULL`;

/** Builds the counts from the values of `ownColumns` or `rivalColumns`, in their order. */
export function tallyOf(
  values: readonly unknown[],
  labels: readonly string[],
): { tally: MentionCounts; labelled: number } {
  const [responses = 0, mentions = 0, count = 0, sum = 0, labelled = 0, ...times] = values.map((value) =>
    Number(value ?? 0),
  );
  return {
    tally: {
      responses,
      mentions,
      positions: { count, sum },
      labels: Object.fromEntries(labels.map((label, index) => [label, times[index] ?? 0])),
    },
    labelled,
  };
}

// Joins reported rows with the stored counts of the same brand, days, engine and entity. Skips competitors that a
// response lists twice, because it is unknown which of the two positions and labels upstream counts.
function standingsSql(
  tables: CountedTables,
  { reported, join, day, engine }: Readonly<Record<'reported' | 'join' | 'day' | 'engine', string>>,
  labels: readonly string[],
): string {
  const names = ['mentions', 'position_count', 'position_sum', 'labelled', ...labels.map((_, index) => `l${index}`)];
  const key = `t.brand_id, ${day} AS range_from, ${engine} AS engine`;
  const onKey = (table: string): string =>
    `${table}.brand_id = m.brand_id AND ${table}.range_from = m.range_from AND ${table}.engine IS NOT DISTINCT FROM m.engine`;
  return `WITH reported AS (${reported}),
    own AS (SELECT ${key}, ${ownColumns(labels)} FROM ${tables.responses} t ${join} WHERE t._deleted_at IS NULL GROUP BY 1, 2, 3),
    rivals AS (SELECT ${key}, t.competitor_id, ${rivalColumns(tables, labels)}, bool_or(c.id IS NOT NULL) AS tracked FROM ${tables.mentions} t ${TRACKED} ${join}
      WHERE t._deleted_at IS NULL AND t.competitor_id IS NOT NULL GROUP BY 1, 2, 3, 4),
    voiced AS (SELECT brand_id, range_from, engine, ${VOICE_SUMS} FROM rivals GROUP BY 1, 2, 3)
  SELECT m.responses AS said_responses, m.mentions AS said_mentions, m.visibility, m.share_of_voice, m.avg_position,
    m.sentiment, coalesce(own.mentions, 0) + coalesce(voiced.voices_tracked, 0) AS tracked,
    coalesce(own.mentions, 0) + coalesce(voiced.voices_all, 0) AS voices, coalesce(own.responses, 0) AS responses,
    ${names.map((name) => `coalesce(CASE WHEN m.competitor_id IS NULL THEN own.${name} ELSE rivals.${name} END, 0) AS ${name}`).join(', ')}
  FROM reported m LEFT JOIN own ON ${onKey('own')} LEFT JOIN voiced ON ${onKey('voiced')}
    LEFT JOIN rivals ON ${onKey('rivals')} AND rivals.competitor_id = m.competitor_id
  WHERE (m.competitor_id IS NULL OR EXISTS (
    SELECT 1 FROM competitors c WHERE c.brand_id = m.brand_id AND c.id = m.competitor_id AND c._deleted_at IS NULL))
    AND NOT coalesce(rivals.repeats, false)`;
}

async function collectFrom(query: Query, numbers: Numbers, labels: readonly string[], sql: string): Promise<void> {
  for (const [
    responses,
    mentions,
    visibility,
    shareOfVoice,
    avgPosition,
    sentiment,
    tracked,
    all,
    ...counts
  ] of await query(sql)) {
    const { tally, labelled } = tallyOf(counts, labels);
    // The report and the responses are read at different times. Compare only rows with equal counts.
    if (responses !== tally.responses || (mentions !== null && mentions !== tally.mentions)) {
      numbers.unlike += 1;
      continue;
    }
    const reported = { visibility, shareOfVoice, avgPosition, sentiment } as Standing['reported'];
    collect(numbers, labels, { tally, labelled, voices: { tracked: Number(tracked), all: Number(all) }, reported });
  }
}
