import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, liveConditions } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { listingOrder } from '../../warehouse/write/listings.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { type GroupTally, sumCounts, sumTallies } from './aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share, visibilityChange, voiceShare } from './definitions.ts';
import { sortedBy } from './order.ts';
import {
  filtersPrompts,
  isGrouped,
  type ListedPrompt,
  matchingPrompts,
  type PromptGroup,
  readPromptList,
  withoutPromptFilters,
} from './prompt-list.ts';
import { type PromptTallies, tallyPrompts } from './prompts.ts';
import { beforeSorting, mentionsOfAll, type Report, type ReportRequest } from './report-request.ts';

interface Group {
  readonly groupId: string | null;
  readonly name: string | null;
  readonly members: readonly ListedPrompt[];
  /** The members, and deleted prompts that were members. */
  readonly known: readonly ListedPrompt[];
  /** Place in upstream's list of groups, from 0. */
  readonly listed: number;
  /** Whether it is the row of prompts without a group. */
  readonly isOthers: boolean;
}

/** Returns a row per group of prompts. Prompts count in their current groups, and in every tag. */
export async function reportGroups(request: ReportRequest): Promise<Report> {
  const { conventions, asked } = request;
  const by = String(asked.values['groupBy']);
  const rows = await beforeSorting(request, (given) => groupRows(given, by));
  const sorted = sortedBy(rows, conventions.groupOrder, ({ values }, key) => values[key as keyof typeof values]);
  return { beside: { from: asked.from, to: asked.to, groupBy: by }, rows: sorted.map(({ row }) => row) };
}

// The rows of all groups, with the values by which they are sorted.
async function groupRows(request: ReportRequest, by: string) {
  const { conventions } = request;
  const prompts = await readPromptList(request);
  const matching = new Set(matchingPrompts(request, prompts).map(({ id }) => id));
  const keepsMembers = filtersPrompts(request) && conventions.groupMembers !== 'matching';
  const { now, later, before } = await tallyPrompts(keepsMembers ? withoutPromptFilters(request) : request);
  const answered = keepsMembers && conventions.groupMembers === 'answered' ? (await tallyPrompts(request)).now : now;
  const groups = await readGroups(request, by, [...prompts, ...unlisted(request, prompts, [now, later, before])]);
  return groups.flatMap((group) => {
    const { groupId, name, members, known, listed, isOthers } = group;
    const isMatched = members.some(({ id }) => matching.has(id));
    if (keepsMembers && !isMatched) return [];
    const tallies = sumTallies(
      members.flatMap(({ id }) => now.get(id) ?? []),
      conventions,
    );
    const { own } = tallies;
    if (!members.some(({ id }) => answered.has(id)) && !isListedEmpty(conventions, isMatched, isOthers)) return [];
    const ownIn = (counted: PromptTallies['before']): MentionCounts =>
      sumCounts(
        members.flatMap(({ id }) => counted.get(id)?.own ?? []),
        conventions,
      );
    const row = {
      groupId,
      name,
      prompts: countPrompts(request, { members, known }, matching, now),
      responses: own.responses,
      visibility: share(conventions, conventions.visibility, own.mentions, own.responses),
      visibilityChange: visibilityChange(conventions, ownIn(later), ownIn(before)),
      avgPosition: avgPosition(conventions, own),
      sentiment: sentiment(conventions, own),
      shareOfVoice: voiceShare(conventions, own.mentions, mentionsOfAll(request, tallies)),
    };
    const appearance = members[0]?.listed ?? null;
    // Upstream has no list of stages.
    const stageAppearance = by === 'funnelStage' && !isOthers ? appearance : null;
    const exactVisibility = own.mentions / Math.max(1, own.responses);
    return [{ row, values: { ...row, listed, appearance, stageAppearance, exactVisibility } }];
  });
}

// The row of prompts without a group exists only if there are such prompts.
function isListedEmpty({ groupRows }: Conventions, isMatched: boolean, isOthers: boolean): boolean {
  return (groupRows === 'all' && !isOthers) || (groupRows !== 'answered' && isMatched);
}

// Prompts deleted before the first sync are only known from their responses.
function unlisted(
  { conventions }: ReportRequest,
  prompts: readonly ListedPrompt[],
  counted: readonly ReadonlyMap<string, unknown>[],
): readonly ListedPrompt[] {
  const known = new Set(prompts.map(({ id }) => id));
  const ids = new Set(counted.flatMap((tallies) => [...tallies.keys()].filter((id) => !known.has(id))));
  if (ids.size === 0 || conventions.deletedPrompts !== 'ungrouped') return [];
  return [...ids].map((id) => ({ ...UNLISTED, id, listed: prompts.length }));
}

const UNLISTED = {
  text: null,
  isActive: false,
  isDeleted: true,
  createdAt: null,
  topic: null,
  tags: [],
  funnelStage: null,
  isBranded: false,
} as const;

function countPrompts(
  { conventions }: ReportRequest,
  { members, known }: Pick<Group, 'members' | 'known'>,
  matching: ReadonlySet<string>,
  now: ReadonlyMap<string, GroupTally>,
): number {
  const counted: Readonly<Record<Conventions['groupPrompts'], () => readonly ListedPrompt[]>> = {
    answered: () => members.filter(({ id }) => (now.get(id)?.own.responses ?? 0) > 0),
    all: () => known.filter(({ isDeleted }) => !isDeleted),
    active: () => known.filter(({ isActive }) => isActive),
    known: () => known,
  };
  const isCounted = ({ id }: ListedPrompt): boolean => matching.has(id) || conventions.groupPromptsFilter === 'all';
  return counted[conventions.groupPrompts]().filter(isCounted).length;
}

async function readGroups(request: ReportRequest, by: string, prompts: readonly ListedPrompt[]): Promise<Group[]> {
  const { conventions } = request;
  const grouped = prompts.filter((prompt) => isGrouped(request, prompt));
  const keys = await readKeys(request, by, grouped);
  const withMembers = (isMember: (prompt: ListedPrompt) => boolean) => ({
    members: grouped.filter(isMember),
    known: prompts.filter(isMember),
  });
  const groups = keys.map(({ key, groupId, name }, listed) => ({
    key,
    groupId,
    name,
    ...withMembers((prompt) => groupsOf(prompt, by).some((group) => group.id === key)),
    listed,
    isOthers: false,
  }));
  const filter = keyOfFilter(request, by);
  if (filter !== undefined && conventions.filteredGroups === 'filtered')
    return groups.filter(({ key }) => key === filter);
  const { ungrouped } = conventions;
  if (ungrouped === null) return groups;
  // A deleted prompt that has left its groups is in this one if upstream keeps its responses.
  const keepsDeleted = conventions.deletedPrompts === 'ungrouped';
  const others = prompts.filter((prompt) => (prompt.isDeleted && keepsDeleted) || groupsOf(prompt, by).length === 0);
  const members = others.filter((prompt) => keepsDeleted || isGrouped(request, prompt));
  return [...groups, { ...ungrouped, members, known: others, listed: groups.length, isOthers: true }];
}

// The group that the request filters by, if it is of the kind by which the report groups.
function keyOfFilter({ asked: { values } }: ReportRequest, by: string): string | undefined {
  const given: Readonly<Record<string, unknown>> = {
    topic: values['topicId'],
    tag: values['tagId'],
    branded: values['branded'] === undefined ? undefined : String(values['branded'] === 'branded'),
  };
  return given[by] as string | undefined;
}

// The groups of a prompt: several tags, or at most one group of another kind.
function groupsOf({ topic, tags, funnelStage, isBranded }: ListedPrompt, by: string): readonly PromptGroup[] {
  switch (by) {
    case 'topic':
      return topic === null ? [] : [topic];
    case 'tag':
      return tags;
    case 'funnelStage':
      return funnelStage === null ? [] : [{ id: funnelStage, name: funnelStage }];
    default:
      return [{ id: String(isBranded), name: null }];
  }
}

interface Key {
  /** The value in the prompts table. */
  readonly key: string;
  /** The value in the report's row. */
  readonly groupId: string;
  readonly name: string | null;
}

async function readKeys(request: ReportRequest, by: string, prompts: readonly ListedPrompt[]): Promise<Key[]> {
  const { brandedGroups } = request.conventions;
  const grouped = prompts.flatMap((prompt) => groupsOf(prompt, by));
  switch (by) {
    case 'branded':
      return (['true', 'false'] as const).map((key) => ({ key, ...brandedGroups[key] }));
    case 'funnelStage': {
      const stages = [...new Set(grouped.map(({ id }) => id))].sort();
      const names = await readReportedNames(request, by);
      return stages.map((key) => ({ key, groupId: key, name: names.get(key) ?? key }));
    }
    default: {
      const listed = await readListed(request, by === 'tag' ? 'tags' : 'topics');
      const known = new Set(listed.map(({ key }) => key));
      // Prompts may refer to groups that the list of groups lacks.
      const more = new Map(grouped.flatMap(({ id, name }) => (known.has(id) ? [] : [[id, name]])));
      return [...listed, ...[...more].map(([key, name]) => ({ key, groupId: key, name }))];
    }
  }
}

async function readListed({ catalogue, query, lists = query, brand }: ReportRequest, list: string): Promise<Key[]> {
  const resource = catalogue.get('prompt_groups');
  const table = resource.derived.find(({ declaration: { at } }) => at !== 'body' && at.list === list) as ResourceTable;
  const bindings = createBindings();
  const { join, orderBy } = listingOrder(resource.name, table, brand.id, bindings);
  const where = liveConditions('t', brand.id, bindings).join(' AND ');
  const rows = await lists(
    `SELECT CAST(t.id AS VARCHAR), t.name FROM ${quoted(table.name)} t ${join} WHERE ${where} ORDER BY ${orderBy}`,
    bindings.values,
  );
  return rows.map(([id, name]) => ({ key: String(id), groupId: String(id), name: name as string | null }));
}

// Upstream may display a funnel stage under a different name.
async function readReportedNames(
  { catalogue, query, lists = query, brand }: ReportRequest,
  by: string,
): Promise<Map<string, string>> {
  const { name } = catalogue.get('metrics_groups').derived[0] as ResourceTable;
  const rows = await lists(
    `SELECT group_id, arg_max(name, range_to) FROM ${quoted(name)}
     WHERE brand_id = CAST($1 AS UUID) AND group_by = $2 AND group_id IS NOT NULL AND name IS NOT NULL GROUP BY 1`,
    [brand.id, by],
  );
  return new Map(rows.map(([id, shown]) => [String(id), String(shown)]));
}
