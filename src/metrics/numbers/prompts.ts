import { quoted } from '../../warehouse/schema.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables, type GroupTally, tally, tallyBrand } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, visibilityChange } from './definitions.ts';
import { type SortValue, sortedBy } from './order.ts';
import { type ListedPrompt, matchingPrompts, readPromptList } from './prompt-list.ts';
import {
  beforeSorting,
  changeRanges,
  formerMentioned,
  nothing,
  type Report,
  type ReportRequest,
  selectionOf,
} from './report-request.ts';

/** Counts by prompt in the range, and in the two ranges that a change compares. */
export interface PromptTallies {
  readonly now: ReadonlyMap<string, GroupTally>;
  readonly later: ReadonlyMap<string, Pick<GroupTally, 'own'>>;
  readonly before: ReadonlyMap<string, Pick<GroupTally, 'own'>>;
}

/** Returns a row per prompt, lowest visibility first. */
export async function reportPrompts(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const rows = await beforeSorting(request, promptRows);
  const sorted = sortedBy(rows, conventions.promptOrder, ({ values }, key) => sortValue(values, key));
  return { beside: { from: asked.from, to: asked.to }, rows: sorted.map(({ row }) => row) };
}

// The rows of all prompts, with the values by which they are sorted.
async function promptRows(request: ReportRequest) {
  const { conventions } = request;
  const { now, later, before } = await tallyPrompts(request);
  const prompts = await listedPrompts(request, now);
  return prompts.map((prompt) => {
    const group = now.get(prompt.id) ?? { key: [], own: nothing, competitors: new Map<string, MentionCounts>() };
    const { own } = group;
    const row = {
      promptId: prompt.id,
      prompt: prompt.text,
      responses: own.responses,
      visibility: share(conventions, conventions.visibility, own.mentions, own.responses),
      visibilityChange: visibilityChange(
        conventions,
        later.get(prompt.id)?.own ?? nothing,
        before.get(prompt.id)?.own ?? nothing,
      ),
      avgPosition: avgPosition(conventions, own),
      sentiment: sentiment(conventions, own),
      topCompetitors: topCompetitors(request, group),
    };
    const { createdAt, listed } = prompt;
    const exactVisibility = own.mentions / Math.max(1, own.responses);
    return { row, values: { ...row, createdAt, listed, exactVisibility, answered: own.responses > 0 } };
  });
}

type Row = Pick<ListedPrompt, 'id' | 'text' | 'createdAt' | 'listed'>;

async function listedPrompts(request: ReportRequest, now: PromptTallies['now']): Promise<Row[]> {
  const { conventions } = request;
  const prompts = await readPromptList(request);
  const matching = new Set(matchingPrompts(request, prompts).map(({ id }) => id));
  const rows = prompts.filter((prompt) => {
    const { id, isDeleted } = prompt;
    if (now.has(id)) return !isDeleted || conventions.deletedPromptRows === 'listed';
    return matching.has(id) && !isDeleted && isListedEmpty(conventions, prompt);
  });
  const known = new Set(prompts.map(({ id }) => id));
  const unknown = [...now.keys()].filter((id) => !known.has(id));
  if (unknown.length === 0 || conventions.deletedPromptRows === 'absent') return rows;
  return [...rows, ...(await readUnknown(request, unknown, prompts.length))];
}

function isListedEmpty({ promptRows }: Conventions, { isActive }: ListedPrompt): boolean {
  return promptRows === 'all' || (promptRows === 'active' && isActive);
}

// Prompts deleted before the first sync are only known from their responses.
async function readUnknown({ catalogue, query, brand }: ReportRequest, ids: string[], listed: number): Promise<Row[]> {
  if (ids.length === 0) return [];
  const rows = await query(
    `SELECT CAST(prompt_id AS VARCHAR), arg_max(prompt, created_at) FROM ${quoted(answerTables(catalogue).answers.name)}
     WHERE brand_id = CAST($1 AS UUID) AND list_contains(CAST($2 AS UUID[]), prompt_id) AND _deleted_at IS NULL
     GROUP BY 1 ORDER BY 1`,
    [brand.id, ids],
  );
  return rows.map(([id, text]) => ({ id: String(id), text: text as string | null, createdAt: null, listed }));
}

function sortValue(values: Readonly<Record<string, unknown>>, key: string): SortValue {
  return values[key] as SortValue;
}

/** Counts the selected responses by prompt, in the range and in those that a change compares. */
export async function tallyPrompts(request: ReportRequest): Promise<PromptTallies> {
  const { query, conventions, asked } = request;
  const selection = selectionOf(request);
  const byPrompt = <T extends Pick<GroupTally, 'key'>>(groups: readonly T[]): Map<string, T> =>
    new Map(groups.flatMap((group) => (typeof group.key[0] === 'string' ? [[group.key[0], group]] : [])));
  const now = await tally(query, selection, 'prompt');
  const ranges = changeRanges(asked, conventions);
  const isWhole = ranges.now.from === asked.from;
  const later = isWhole ? now : await tallyBrand(query, { ...selection, ...ranges.now }, 'prompt');
  const before = await tallyBrand(query, { ...selection, ...ranges.before }, 'prompt');
  return { now: byPrompt(now), later: byPrompt<Pick<GroupTally, 'key' | 'own'>>(later), before: byPrompt(before) };
}

// The competitors with most mentions, and the brand itself if upstream lists it.
function topCompetitors({ brand, conventions }: ReportRequest, group: GroupTally): unknown[] {
  const { topCompetitorsBrand, topCompetitorsDeleted, topCompetitorsUnmentioned } = conventions;
  const own = topCompetitorsBrand === 'included' ? [{ competitorId: null, name: brand.name }] : [];
  const former = {
    excluded: () => [],
    included: () => formerMentioned(brand, group),
    listed: () => brand.formerCompetitors,
  }[topCompetitorsDeleted]();
  const entities = [...own, ...brand.competitors, ...former].map(({ competitorId, name }, listed) => {
    const { mentions } = (competitorId === null ? group.own : group.competitors.get(competitorId)) ?? nothing;
    const row = { competitorId, name, mentions };
    return { row, values: { ...row, listed, brand: competitorId === null ? 0 : 1 } };
  });
  const listed = entities.filter(({ row }) => row.mentions > 0 || topCompetitorsUnmentioned === 'listed');
  const sorted = sortedBy(listed, conventions.topCompetitorOrder, ({ values }, key) => sortValue(values, key));
  return sorted.slice(0, conventions.topCompetitors).map(({ row }) => row);
}
