import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Query } from '../../warehouse/database.ts';
import { CHANGE_KINDS, type ChangeKind, historyQueriesOf } from './history-queries.ts';
import { quotedName } from './sentences.ts';

/** Maximum number of listed changes of each kind; the newest are kept. */
export const CHANGES_LISTED = 200;

/** The changes since a time. */
export const history = z.object({
  since: time,
  changes: z
    .array(
      z.object({
        at: time.describe('when it was made or first seen'),
        kind: z.enum(CHANGE_KINDS),
        brandId: z.string().nullable().describe('null for changes of the whole workspace'),
        brand: z.string().nullable().describe('name of the brand'),
        sentence: z.string(),
        ids: z.record(z.string(), z.string()).describe('ids of what changed'),
      }),
    )
    .describe('newest first'),
  counts: z
    .partialRecord(z.enum(CHANGE_KINDS), number)
    .describe('all changes by kind; at most 200 of a kind are listed'),
});

/** The changes since a time. */
export type History = ValueOf<typeof history>;
type HistoryChange = History['changes'][number];

/** Selects changes. */
export interface HistoryFilter {
  /** Only these kinds; an empty list selects all. */
  readonly kinds: readonly ChangeKind[];
  /** Whether changes of the whole workspace are left out. */
  readonly ofBrandsOnly: boolean;
  /** End of the time, in epoch milliseconds; default: now. */
  readonly untilMs?: number;
}

/** Lists the changes of the brands since a time, in epoch milliseconds. */
export async function whatChanged(
  query: Query,
  brandIds: readonly string[],
  sinceMs: number,
  { kinds, ofBrandsOnly, untilMs = Number.MAX_SAFE_INTEGER }: HistoryFilter = { kinds: [], ofBrandsOnly: false },
): Promise<History> {
  const found: HistoryChange[] = [];
  const counts: Partial<Record<ChangeKind, number>> = {};
  for (const sql of historyQueriesOf(kinds)) {
    const columns = 't(kind, moment, brand_id, name, was, became, a, b, ids)';
    const rows = await query(
      `SELECT kind, CAST(moment AS BIGINT), CAST(brand_id AS VARCHAR), CAST(name AS VARCHAR), CAST(was AS VARCHAR), CAST(became AS VARCHAR),
         CAST(a AS DOUBLE), CAST(b AS DOUBLE), CAST(ids AS VARCHAR), count(*) OVER (PARTITION BY kind),
         (SELECT any_value(b.name) FROM main.brands AS b WHERE CAST(b.id AS VARCHAR) = CAST(t.brand_id AS VARCHAR))
       FROM (${sql}) ${columns} WHERE list_contains($3, kind) AND (brand_id IS NOT NULL OR NOT $4) AND moment < $5
       QUALIFY row_number() OVER (PARTITION BY kind ORDER BY moment DESC, ids) <= ${CHANGES_LISTED} ORDER BY moment DESC, ids`,
      [Math.trunc(sinceMs), brandIds, kinds.length === 0 ? CHANGE_KINDS : kinds, ofBrandsOnly, untilMs],
    );
    for (const row of rows) {
      const change = toChange(row);
      counts[change.kind] = Number(row[9]);
      found.push(change);
    }
  }
  const order = new Map(CHANGE_KINDS.map((kind, index) => [kind, index]));
  const place = ({ kind }: HistoryChange): number => order.get(kind) ?? 0;
  found.sort((a, b) => (a.at === b.at ? place(a) - place(b) : a.at < b.at ? 1 : -1));
  return { since: new Date(sinceMs).toISOString(), changes: found, counts };
}

interface Facts {
  readonly name: string;
  readonly was: string;
  readonly became: string;
  readonly a: number;
  readonly b: number;
}

const sentences: Readonly<Record<ChangeKind, (facts: Facts) => string>> = {
  prompt_lost: ({ name, a, b }) =>
    `Prompt ${name} lost the brand: it was mentioned in ${percent(a)} of responses, and in none of the ${count(b)} since then.`,
  prompt_won: ({ name, a, b }) =>
    `Prompt ${name} won: its visibility rose from ${percent(a)} to ${percent(b)} in the last 28 complete days.`,
  prompt_fell: ({ name, a, b }) =>
    `Prompt ${name} fell: its visibility went from ${percent(a)} to ${percent(b)} in the last 28 complete days.`,
  source_added: ({ name, a }) => `Domain ${name} was cited for the first time, by ${count(a)} responses so far.`,
  alert: ({ name, was }) => `Alert of ${was.replaceAll('_', ' ')}: ${name}.`,
  article_added: ({ name, became }) => `Article ${name} was ordered; its state is ${became}.`,
  article_state: ({ name, was, became }) => `Article ${name} went from ${was} to ${became}.`,
  thread_added: ({ name, was, became }) => `Forum thread ${name} (${was}) was found; its state is ${became}.`,
  thread_state: ({ name, was, became }) => `Forum thread ${name} went from ${was} to ${became}.`,
  plan_generated: ({ name, a, b }) =>
    `An action plan was generated for prompt ${name}; competitors won ${count(a)} of ${count(b)} responses.`,
  action_done: ({ name }) => `Action ${name} was marked as done.`,
  prompt_added: ({ name }) => `Prompt ${name} was added.`,
  prompt_edited: ({ was, became }) => `Prompt ${quotedName(was)} was changed to ${quotedName(became)}.`,
  prompt_paused: ({ name }) => `Prompt ${name} was paused.`,
  prompt_resumed: ({ name }) => `Prompt ${name} was resumed.`,
  prompt_moved: ({ name, was, became }) => `Prompt ${name} moved from topic ${was} to topic ${became}.`,
  prompt_deleted: ({ name }) => `Prompt ${name} was deleted.`,
  competitor_added: ({ name }) => `Competitor ${name} was added.`,
  competitor_renamed: ({ was, became }) => `Competitor ${quotedName(was)} was renamed to ${quotedName(became)}.`,
  competitor_removed: ({ name }) => `Competitor ${name} was removed.`,
  upstream_drift: ({ name, was, became, a }) =>
    `Upstream changed: ${was.replaceAll('_', ' ')} ${name}${became === 'none' ? '' : ` (${became})`}, in ${count(a)} items.`,
  verification_failed: ({ name, a }) => `${count(a)} numbers of ${name} differ from those that upstream reports.`,
};

/** Kinds with an identifier as name, which is not quoted. */
const UNQUOTED: readonly ChangeKind[] = ['source_added', 'alert', 'upstream_drift', 'verification_failed'];

function toChange([kind, at, brandId, name, was, became, a, b, ids, _all, brand]: readonly unknown[]): HistoryChange {
  const known = kind as ChangeKind;
  const text = (value: unknown): string => (value === null ? 'none' : String(value));
  const shown = shownName(known, name);
  const facts = { name: shown, was: text(was), became: text(became), a: Number(a ?? 0), b: Number(b ?? 0) };
  return {
    at: new Date(Number(at)).toISOString(),
    kind: known,
    brandId: brandId as string | null,
    brand: brand as string | null,
    sentence: sentences[known](facts),
    ids: JSON.parse(String(ids)) as Record<string, string>,
  };
}

function shownName(kind: ChangeKind, name: unknown): string {
  if (name === null) return 'without a title';
  return UNQUOTED.includes(kind) ? String(name).replace(/\.$/, '') : quotedName(String(name));
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
