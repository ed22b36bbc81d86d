import type { Conventions } from '../calibration/conventions.ts';
import { type GroupTally, tally, tallyBrand } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, visibilityChange } from './definitions.ts';
import { type SortValue, sortedBy } from './order.ts';
import { type ListedPrompt, matchingPrompts, readPromptList } from './prompt-list.ts';
import {
  countedCompetitors,
  labelsOf,
  nothing,
  type Report,
  type ReportRequest,
  rangeBefore,
  selectionOf,
} from './report-request.ts';

/** Counts by prompt in the range and in the preceding one. */
export interface PromptTallies {
  readonly now: ReadonlyMap<string, GroupTally>;
  readonly before: ReadonlyMap<string, Pick<GroupTally, 'own'>>;
}

/** Returns a row per current prompt, lowest visibility first. */
export async function reportPrompts(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const { now, before } = await tallyPrompts(request);
  const prompts = matchingPrompts(request, await readPromptList(request));
  const rows = prompts.flatMap((prompt) => {
    const group = now.get(prompt.id) ?? { key: [], own: nothing, competitors: new Map<string, MentionCounts>() };
    const { own } = group;
    if (own.responses === 0 && !isListedEmpty(conventions, prompt)) return [];
    const row = {
      promptId: prompt.id,
      prompt: prompt.text,
      responses: own.responses,
      visibility: share(conventions, conventions.visibility, own.mentions, own.responses),
      visibilityChange: visibilityChange(conventions, own, before.get(prompt.id)?.own ?? nothing),
      avgPosition: avgPosition(conventions, own),
      sentiment: sentiment(conventions, own),
      topCompetitors: topCompetitors(request, group),
    };
    const { createdAt, listed } = prompt;
    const exactVisibility = own.mentions / Math.max(1, own.responses);
    return [{ row, values: { ...row, createdAt, listed, exactVisibility, mentions: own.mentions } }];
  });
  const sorted = sortedBy(rows, conventions.promptOrder, ({ values }, key) => sortValue(values, key));
  return { beside: { from: asked.from, to: asked.to }, rows: sorted.map(({ row }) => row) };
}

function isListedEmpty({ promptRows }: Conventions, { isActive }: ListedPrompt): boolean {
  return promptRows === 'all' || (promptRows === 'active' && isActive);
}

function sortValue(values: Readonly<Record<string, unknown>>, key: string): SortValue {
  return values[key] as SortValue;
}

/** Counts the selected responses by prompt, in the range and in the preceding one. */
export async function tallyPrompts(request: ReportRequest): Promise<PromptTallies> {
  const { query, conventions, asked } = request;
  const selection = selectionOf(request);
  const labels = labelsOf(conventions);
  const byPrompt = <T extends Pick<GroupTally, 'key'>>(groups: readonly T[]): Map<string, T> =>
    new Map(groups.flatMap((group) => (typeof group.key[0] === 'string' ? [[group.key[0], group]] : [])));
  const now = await tally(query, selection, 'prompt', labels);
  const before = await tallyBrand(query, { ...selection, ...rangeBefore(asked, conventions) }, 'prompt', labels);
  return { now: byPrompt(now), before: byPrompt(before) };
}

// The competitors with most mentions, and the brand itself if upstream lists it.
function topCompetitors({ brand, conventions }: ReportRequest, group: GroupTally): unknown[] {
  const rivals = countedCompetitors(brand, conventions, 'listed').map(({ competitorId, name }, listed) => ({
    row: { competitorId, name, mentions: group.competitors.get(competitorId as string)?.mentions ?? 0 },
    listed: listed + 1,
  }));
  const own = { row: { competitorId: null, name: brand.name, mentions: group.own.mentions }, listed: 0 };
  const entities = conventions.topCompetitorsBrand === 'included' ? [own, ...rivals] : rivals;
  const mentioned = entities.filter(({ row }) => row.mentions > 0);
  return sortedBy(mentioned, conventions.topCompetitorOrder, ({ row, listed }, key) =>
    sortValue({ ...row, listed }, key),
  )
    .slice(0, conventions.topCompetitors)
    .map(({ row }) => row);
}
