import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, liveConditions } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { type GroupTally, tally, tallyBrand } from './aggregate.ts';
import { avgPosition, sentiment, share, visibilityChange } from './definitions.ts';
import { labelsOf, nothing, type Report, type ReportRequest, rangeBefore, selectionOf } from './report-request.ts';

/** Counts by prompt in the range and in the preceding one. */
export interface PromptTallies {
  readonly now: ReadonlyMap<string, GroupTally>;
  readonly before: ReadonlyMap<string, Pick<GroupTally, 'own'>>;
}

/** Returns a row per current prompt with responses in the range, lowest visibility first. */
export async function reportPrompts(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const { now, before } = await tallyPrompts(request);
  const prompts = await readPrompts(request);
  const rows = prompts.flatMap(({ id, text }) => {
    const group = now.get(id);
    if (group === undefined || group.own.responses === 0) return [];
    const { own } = group;
    const row = {
      promptId: id,
      prompt: text,
      responses: own.responses,
      visibility: share(conventions, conventions.visibility, own.mentions, own.responses),
      visibilityChange: visibilityChange(conventions, own, before.get(id)?.own ?? nothing),
      avgPosition: avgPosition(conventions, own),
      sentiment: sentiment(conventions, own),
      topCompetitors: topCompetitors(request, group),
    };
    return [{ row, exact: own.mentions / own.responses }];
  });
  rows.sort((a, b) => a.exact - b.exact || (a.row.promptId < b.row.promptId ? -1 : 1));
  return { beside: { from: asked.from, to: asked.to }, rows: rows.map(({ row }) => row) };
}

/** Counts the selected responses by prompt, in the range and in the preceding one. */
export async function tallyPrompts(request: ReportRequest): Promise<PromptTallies> {
  const { query, conventions, asked } = request;
  const selection = selectionOf(request);
  const labels = labelsOf(conventions);
  const byPrompt = <T extends Pick<GroupTally, 'key'>>(groups: readonly T[]): Map<string, T> =>
    new Map(groups.flatMap((group) => (typeof group.key[0] === 'string' ? [[group.key[0], group]] : [])));
  const now = await tally(query, selection, 'prompt', labels);
  const before = await tallyBrand(query, { ...selection, ...rangeBefore(asked) }, 'prompt', labels);
  return { now: byPrompt(now), before: byPrompt(before) };
}

async function readPrompts({ catalogue, query, brand }: ReportRequest): Promise<{ id: string; text: string | null }[]> {
  const { name } = catalogue.get('prompts').derived[0] as ResourceTable;
  const bindings = createBindings();
  const where = liveConditions('t', brand.id, bindings).join(' AND ');
  const rows = await query(
    `SELECT CAST(t.id AS VARCHAR), t.text FROM ${quoted(name)} t WHERE ${where}`,
    bindings.values,
  );
  return rows.map(([id, text]) => ({ id: String(id), text: text as string | null }));
}

// Sorted by mentions, then by name.
function topCompetitors({ brand, conventions }: ReportRequest, group: GroupTally): unknown[] {
  return brand.competitors
    .map(({ competitorId, name }) => ({
      competitorId,
      name,
      mentions: group.competitors.get(competitorId as string)?.mentions ?? 0,
    }))
    .filter(({ mentions }) => mentions > 0)
    .sort((a, b) => b.mentions - a.mentions || ((a.name ?? '') < (b.name ?? '') ? -1 : 1))
    .slice(0, conventions.topCompetitors);
}
