import type { Choices } from './choices.ts';
import {
  changeOf,
  compareText,
  countFor,
  type Entity,
  listedCompetitors,
  positionOf,
  sentimentOf,
  shareOfVoiceOf,
  visibilityOf,
} from './numbers.ts';
import {
  countDays,
  countedAnswers,
  isCounted,
  type Query,
  type Range,
  readChoice,
  type Selection,
  shiftDay,
} from './parameters.ts';
import type { Answer, Brand, Competitor, Prompt } from './world.ts';

/** What a report is made from. */
export interface ReportRequest {
  readonly brand: Brand;
  readonly selection: Selection;
  readonly query: Query;
  readonly choices: Choices;
}

type Row = Record<string, unknown>;

/** `GET /brands/{brandId}/metrics`. */
export function metricsReport({ brand, selection, choices }: ReportRequest): Row {
  const answers = countedAnswers(brand, selection, choices);
  const hasRows = answers.length > 0 || choices.metricsWithoutResponses === 'rows';
  const data = hasRows ? entityRows(brand, answers, choices, () => true) : [];
  return { ...echo(selection.range), responses: answers.length, data };
}

function echo({ from, to }: Range): Row {
  return { from, to };
}

/** Rows of the brand and its competitors in the order of the report. */
function entityRows(
  brand: Brand,
  answers: readonly Answer[],
  choices: Choices,
  hasRow: (mentions: number) => boolean,
): Row[] {
  const deleted = (competitor: Competitor): boolean =>
    choices.deletedCompetitors === 'listed' && countFor(answers, competitor, choices).mentions > 0;
  const competitors = listedCompetitors(brand, choices).filter((each) => !each.isDeleted || deleted(each));
  const rows = [null, ...competitors].map((entity: Entity) => {
    const counts = countFor(answers, entity, choices);
    const row = {
      entityType: entity === null ? 'brand' : choices.competitorEntity,
      competitorId: entity === null ? null : entity.id,
      name: entity === null ? brand.name : entity.name,
      responses: counts.responses,
      mentions: counts.mentions,
      visibility: visibilityOf(counts, choices),
      shareOfVoice: shareOfVoiceOf(counts, choices),
      avgPosition: positionOf(counts, choices),
      sentiment: sentimentOf(counts, choices),
    };
    return row;
  });
  const [own, ...others] = rows;
  if (own === undefined) return [];
  const isShown = (row: (typeof rows)[number]): boolean => hasRow(row.mentions);
  const byName = (left: { name: string }, right: { name: string }): number =>
    compareText(left.name, right.name, choices);
  const byMentions = (left: (typeof rows)[number], right: (typeof rows)[number]): number =>
    right.mentions - left.mentions || byName(left, right);
  const sorted = {
    'brand-then-list': () => [own, ...others],
    'brand-then-name': () => [own, ...others.sort(byName)],
    'brand-then-visibility': () => [own, ...others.sort(byMentions)],
    visibility: () => rows.sort(byMentions),
  }[choices.metricRowOrder]();
  return sorted.filter((row) => row === own || isShown(row));
}

/** Removes the members that only daily rows have. */
export function withoutCounts(report: Row): Row {
  const data = (report['data'] as Row[]).map(({ responses: _, mentions: __, ...row }) => row);
  return { ...report, data };
}

/** `GET /brands/{brandId}/metrics/daily`. */
export function dailyReport({ brand, selection, query, choices }: ReportRequest): Row {
  const mode = readChoice(query, choices.rowModeName, ['engine', 'none'], choices) ?? 'engine';
  const answers = countedAnswers(brand, selection, choices);
  const days = daysOf(selection.range);
  const engines = [...brand.engines].filter((engine) => selection.engine === null || engine === selection.engine);
  if (choices.dailyEngineOrder === 'name') engines.sort();
  const data: Row[] = [];
  for (const date of choices.dayOrder === 'oldest-first' ? days : days.reverse()) {
    const ofDay = answers.filter(({ day }) => day === date);
    for (const engine of mode === 'none' ? [null] : engines) {
      const part = ofDay.filter((answer) => engine === null || answer.engine === engine);
      if (part.length === 0 && choices.dailyDays === 'answered') continue;
      const hasRow = (mentions: number): boolean => mentions > 0 || choices.dailyCompetitors === 'all';
      const rows = entityRows(brand, part, choices, hasRow);
      data.push(...rows.map((row) => ({ date, ...engineMember(engine, choices), ...row })));
    }
  }
  return { ...echo(selection.range), data };
}

function engineMember(engine: string | null, { combinedEngine }: Choices): Row {
  if (engine !== null) return { engine };
  if (combinedEngine === 'absent') return {};
  return { engine: combinedEngine === 'all' ? 'all' : null };
}

function daysOf({ from, to }: Range): string[] {
  return Array.from({ length: countDays(from, to) }, (_, index) => shiftDay(from, index));
}

/** The responses of a change: those that are compared with earlier ones. */
interface Compared {
  readonly now: readonly Answer[];
  readonly before: readonly Answer[];
}

function comparedAnswers({ brand, selection, choices }: ReportRequest): Compared {
  const { range } = selection;
  const days = countDays(range.from, range.to);
  if (choices.changePeriod === 'before') {
    const previous = { from: shiftDay(range.from, -days), to: shiftDay(range.from, -1) };
    return {
      now: countedAnswers(brand, selection, choices),
      before: countedAnswers(brand, selection, choices, previous),
    };
  }
  const middle = shiftDay(range.from, Math.floor(days / 2));
  return {
    now: countedAnswers(brand, selection, choices, { ...range, from: middle }),
    before: countedAnswers(brand, selection, choices, { ...range, to: shiftDay(middle, -1) }),
  };
}

function changeFor({ now, before }: Compared, belongs: (answer: Answer) => boolean, choices: Choices): number | null {
  const counts = (answers: readonly Answer[]) => countFor(answers.filter(belongs), null, choices);
  return changeOf(counts(now), counts(before), choices);
}

/** `GET /brands/{brandId}/metrics/prompts`. */
export function promptsReport(request: ReportRequest): Row {
  const { brand, selection, choices } = request;
  const answers = countedAnswers(brand, selection, choices);
  const compared = comparedAnswers(request);
  const listed = brand.prompts.filter((prompt) => {
    if (prompt.state === 'deleted' && choices.deletedPromptRows === 'omitted') return false;
    if (answers.some((answer) => answer.prompt === prompt)) return true;
    if (choices.promptRows === 'answered' || !selection.isPromptMatching(prompt)) return false;
    if (prompt.state === 'deleted' || !isCounted(prompt, choices)) return false;
    return choices.promptRows === 'current' || prompt.state === 'active';
  });
  const rows = listed.map((prompt) => {
    const own = answers.filter((answer) => answer.prompt === prompt);
    const counts = countFor(own, null, choices);
    return {
      promptId: prompt.id,
      prompt: prompt.text,
      responses: counts.responses,
      visibility: visibilityOf(counts, choices),
      visibilityChange: changeFor(compared, (answer) => answer.prompt === prompt, choices),
      avgPosition: positionOf(counts, choices),
      sentiment: sentimentOf(counts, choices),
      topCompetitors: topCompetitors(brand, own, choices),
    };
  });
  type PromptRow = (typeof rows)[number];
  const text = (left: PromptRow, right: PromptRow): number => compareText(left.prompt, right.prompt, choices);
  const ties = {
    prompt: text,
    id: (left: PromptRow, right: PromptRow) => (left.promptId < right.promptId ? -1 : 1),
    responses: (left: PromptRow, right: PromptRow) => right.responses - left.responses || text(left, right),
    // The sort is stable and the prompts are in order of their creation.
    list: () => 0,
  }[choices.promptRowTies];
  rows.sort((left, right) => (left.visibility ?? -1) - (right.visibility ?? -1) || ties(left, right));
  return { ...echo(selection.range), data: rows };
}

function topCompetitors(brand: Brand, answers: readonly Answer[], choices: Choices): Row[] {
  const entities: Entity[] = listedCompetitors(brand, choices).filter(
    ({ isDeleted }) => !isDeleted || choices.deletedCompetitors === 'listed',
  );
  if (choices.topCompetitorsBrand === 'with') entities.unshift(null);
  const rows = entities.map((entity) => ({
    competitorId: entity === null ? null : entity.id,
    name: entity === null ? brand.name : entity.name,
    mentions: countFor(answers, entity, choices).mentions,
  }));
  type TopRow = (typeof rows)[number];
  const ties = {
    name: (left: TopRow, right: TopRow) => compareText(left.name, right.name, choices),
    id: (left: TopRow, right: TopRow) => ((left.competitorId ?? '') < (right.competitorId ?? '') ? -1 : 1),
    list: () => 0,
  }[choices.topCompetitorTies];
  return rows
    .filter(({ mentions }) => mentions > 0 || choices.topCompetitorsZero === 'all')
    .sort((left, right) => right.mentions - left.mentions || ties(left, right))
    .slice(0, choices.topCompetitorsCount);
}

const GROUPINGS = ['topic', 'tag', 'funnelStage', 'branded'] as const;

interface Group {
  readonly groupId: string | null;
  readonly name: string;
  readonly has: (prompt: Prompt) => boolean;
  readonly isUngrouped: boolean;
}

/** `GET /brands/{brandId}/metrics/groups`. */
export function groupsReport(request: ReportRequest): Row {
  const { brand, query, choices, selection } = request;
  const groupBy = readChoice(query, 'groupBy', GROUPINGS, choices) ?? 'topic';
  const isWhole = choices.groupsUnderFilter === 'whole-groups';
  const matching = countedAnswers(brand, selection, choices);
  const whole: Selection = { ...selection, isPromptMatching: () => true };
  const used: ReportRequest = isWhole ? { ...request, selection: whole } : request;
  const answers = countedAnswers(brand, used.selection, choices);
  const compared = comparedAnswers(used);
  const current = brand.prompts.filter(({ state }) => state !== 'deleted');
  const rows = groupsOf(groupBy, brand, choices)
    .filter((group) => isGroupWanted(group, groupBy, selection, choices))
    .filter((group) => {
      const hasAnswers = matching.some(({ prompt }) => group.has(prompt));
      if (hasAnswers || choices.groupRows === 'answered') return hasAnswers;
      const hasPrompts = current.some((prompt) => group.has(prompt) && selection.isPromptMatching(prompt));
      return hasPrompts || (choices.groupRows === 'all' && !group.isUngrouped && !isWhole);
    })
    .map((group) => {
      const own = answers.filter(({ prompt }) => group.has(prompt));
      const counts = countFor(own, null, choices);
      return {
        groupId: group.groupId,
        name: group.name,
        prompts: countPrompts(group, own, used.selection, { current, choices }),
        responses: counts.responses,
        visibility: visibilityOf(counts, choices),
        visibilityChange: changeFor(compared, ({ prompt }) => group.has(prompt), choices),
        avgPosition: positionOf(counts, choices),
        sentiment: sentimentOf(counts, choices),
        shareOfVoice: shareOfVoiceOf(counts, choices),
      };
    });
  type GroupRow = (typeof rows)[number];
  const byName = (left: GroupRow, right: GroupRow): number => compareText(left.name, right.name, choices);
  const order = {
    list: () => 0,
    name: byName,
    responses: (left: GroupRow, right: GroupRow) => right.responses - left.responses || byName(left, right),
    visibility: (left: GroupRow, right: GroupRow) =>
      (right.visibility ?? -1) - (left.visibility ?? -1) || byName(left, right),
  }[choices.groupOrder];
  return { ...echo(selection.range), groupBy, data: rows.sort(order) };
}

function countPrompts(
  group: Group,
  own: readonly Answer[],
  selection: Selection,
  { current, choices }: { readonly current: readonly Prompt[]; readonly choices: Choices },
): number {
  const members = current.filter((prompt) => group.has(prompt));
  const answered = new Set(own.map(({ prompt }) => prompt));
  return {
    answered: () => answered.size,
    current: () => members.length,
    active: () => members.filter(({ state }) => state === 'active').length,
    matching: () => members.filter(selection.isPromptMatching).length,
  }[choices.groupPromptCount]();
}

// A filter by a topic leaves only the group of this topic, and likewise for the other groupings.
function isGroupWanted(
  group: Group,
  groupBy: (typeof GROUPINGS)[number],
  selection: Selection,
  choices: Choices,
): boolean {
  if (choices.groupsUnderFilter !== 'only-filtered') return true;
  const { topicId, tagId, branded } = selection;
  if (groupBy === 'topic' && topicId !== null) return group.groupId === topicId;
  if (groupBy === 'tag' && tagId !== null) return group.groupId === tagId;
  if (groupBy === 'branded' && branded !== null) return group.groupId === brandedGroup(branded, choices).groupId;
  return true;
}

function groupsOf(groupBy: (typeof GROUPINGS)[number], brand: Brand, choices: Choices): Group[] {
  const isCurrent = (prompt: Prompt): boolean => prompt.state !== 'deleted';
  const named = listedGroups(groupBy === 'topic' ? brand.topics : brand.tags, choices);
  const stages = [...new Set(brand.prompts.filter(isCurrent).map(({ funnelStage }) => funnelStage))];
  const groups = {
    topic: () => named.map(({ id, name }) => ({ groupId: id, name, has: ({ topic }: Prompt) => topic?.id === id })),
    tag: () =>
      named.map(({ id, name }) => ({
        groupId: id,
        name,
        has: ({ tags }: Prompt) => tags.some((tag) => tag.id === id),
      })),
    funnelStage: () =>
      stages
        .filter((stage) => stage !== null)
        .sort()
        .map((stage) => ({
          groupId: stage,
          name: choices.stageNames === 'slugs' ? stage : capitalize(stage),
          has: ({ funnelStage }: Prompt) => funnelStage === stage,
        })),
    branded: () =>
      [true, false].map((value) => ({
        ...brandedGroup(value, choices),
        has: ({ branded }: Prompt) => branded === value,
      })),
  }[groupBy]();
  const known = groups.map((group) => ({
    ...group,
    has: (prompt: Prompt) => isCurrent(prompt) && group.has(prompt),
    isUngrouped: false,
  }));
  if (choices.ungrouped === 'omitted') return known;
  const has = (prompt: Prompt): boolean =>
    isCurrent(prompt) ? !known.some((group) => group.has(prompt)) : choices.deletedPromptsInGroups === 'ungrouped';
  const groupId = choices.ungrouped === 'null' ? null : 'none';
  return [...known, { groupId, name: choices.ungrouped === 'null' ? 'Ungrouped' : 'None', has, isUngrouped: true }];
}

function brandedGroup(value: boolean, { brandedGroups }: Choices): { groupId: string; name: string } {
  const slug = value ? 'branded' : 'non-branded';
  if (brandedGroups === 'booleans') return { groupId: String(value), name: String(value) };
  return { groupId: slug, name: brandedGroups === 'titles' ? capitalize(slug) : slug };
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Topics or tags in the order of their list. */
export function listedGroups<T extends { readonly name: string }>(groups: readonly T[], choices: Choices): T[] {
  if (choices.groupListOrder === 'created') return [...groups];
  return [...groups].sort((left, right) => compareText(left.name, right.name, choices));
}
