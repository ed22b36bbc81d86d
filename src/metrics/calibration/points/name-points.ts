import { canonical } from '../candidates.ts';
import { conventionSchemas, type Conventions, defaultConventions } from '../conventions.ts';
import { DAY_ROW, GROUP, identityOf, PROMPT, rowsOf } from './facts.ts';
import { type CalibrationPoint, factsIn, isAbout, type PointContext, type ReportQuestion } from './point.ts';

/** Maximum number of candidate names. */
const NAMES_MAX = 20;
/** More competitors than any brand tracks. */
const TOP_UNBOUNDED = 1_000_000;

function isCombined({ query }: ReportQuestion): boolean {
  return query['breakdown'] === 'none';
}

function valuesSeen(point: CalibrationPoint, { answers }: PointContext): unknown[] {
  return [...new Map(factsIn(point, answers).map((value) => [canonical(value), value])).values()].slice(0, NAMES_MAX);
}

const combinedEngine: CalibrationPoint = {
  name: 'combinedEngine',
  about: 'the engine of daily rows over all engines',
  resources: ['metrics_daily'],
  candidates: [defaultConventions.combinedEngine],
  candidatesIn: async (context) => valuesSeen(combinedEngine, context),
  isOpen: true,
  facts: (response, question) => ({
    kind: 'values',
    values: new Map(
      isCombined(question)
        ? rowsOf(response).map((row) => [identityOf(row, ['date', 'competitorId']), row['engine'] ?? null])
        : [],
    ),
  }),
};

const competitorType: CalibrationPoint = {
  name: 'competitorType',
  about: 'the entity type of competitors',
  resources: ['metrics', 'metrics_daily'],
  candidates: [defaultConventions.competitorType],
  candidatesIn: async (context) => valuesSeen(competitorType, context),
  isOpen: true,
  facts: (response) => {
    const rivals = rowsOf(response).filter(
      ({ competitorId, entityType }) => (competitorId ?? null) !== null && typeof entityType === 'string',
    );
    return { kind: 'values', values: new Map(rivals.map((row) => [identityOf(row, DAY_ROW), row['entityType']])) };
  },
};

const topCompetitors: CalibrationPoint = {
  name: 'topCompetitors',
  about: "the maximum number of a prompt's top competitors",
  resources: ['metrics_prompts'],
  candidates: [defaultConventions.topCompetitors],
  candidatesIn: async (context) => [
    ...(valuesSeen(topCompetitors, context) as number[]).toSorted((a, b) => a - b),
    TOP_UNBOUNDED,
  ],
  isPartial: true,
  facts: (response) => ({
    kind: 'values',
    values: new Map(
      rowsOf(response).flatMap((row) =>
        Array.isArray(row['topCompetitors'])
          ? [[identityOf(row, [...PROMPT, 'responses']), row['topCompetitors'].length] as const]
          : [],
      ),
    ),
  }),
};

const emptyDays: CalibrationPoint = {
  name: 'emptyDays',
  about: 'whether days without responses have rows',
  resources: ['metrics_daily'],
  candidates: conventionSchemas.emptyDays.options,
  // The name of the combined engine is another point.
  facts: (response, question) => {
    const key = isCombined(question) ? ['date', 'competitorId'] : DAY_ROW;
    return { kind: 'set', members: new Set(rowsOf(response).map((row) => identityOf(row, key))) };
  },
};

type GroupName = NonNullable<Conventions['ungrouped']>;

function isBranded({ query }: ReportQuestion): boolean {
  return query['groupBy'] === 'branded';
}

// Filters may leave out groups.
function isUnfiltered({ query }: ReportQuestion): boolean {
  return Object.keys(query).every((name) => ['from', 'to', 'groupBy'].includes(name));
}

function nameOf({ groupId, name }: Record<string, unknown>): GroupName {
  return { groupId: (groupId ?? null) as string | null, name: (name ?? null) as string | null };
}

const ungrouped: CalibrationPoint = {
  name: 'ungrouped',
  about: 'the row of prompts without a group',
  resources: ['metrics_groups'],
  candidates: [null],
  // Rows of groups that are not known.
  candidatesIn: async ({ answers, conventions, compute }) => {
    const names: GroupName[] = [{ groupId: null, name: null }];
    for (const answer of answers) {
      if (!isAbout(ungrouped, answer) || isBranded(answer) || !isUnfiltered(answer)) continue;
      const ours = await compute(answer, answer.askedAt, { ...conventions, ungrouped: null, groupRows: 'all' });
      const known = new Set(rowsOf(ours).map((row) => identityOf(row, GROUP)));
      const unknown = rowsOf(answer).filter((row) => !known.has(identityOf(row, GROUP)));
      if (unknown.length === 1) names.push(...unknown.map(nameOf));
    }
    // A found name replaces the assumed one.
    return [...new Map(names.map((name) => [name.groupId, name])).values()].slice(0, NAMES_MAX);
  },
  facts: (response, question) => ({
    kind: 'set',
    members: new Set(isBranded(question) ? [] : rowsOf(response).map((row) => identityOf(row, GROUP))),
  }),
};

function isNegative(name: GroupName): boolean {
  return /\b(non|not|un|no\b|false|generic|other)/i.test(JSON.stringify(name));
}

const brandedGroups: CalibrationPoint = {
  name: 'brandedGroups',
  about: 'the ids and names of the branded and the non-branded group',
  resources: ['metrics_groups'],
  candidates: [defaultConventions.brandedGroups],
  isOpen: true,
  // Each of the names may be that of either group; the more likely assignment comes first.
  candidatesIn: async ({ answers }) => {
    const rows = answers.filter((answer) => isAbout(brandedGroups, answer) && isBranded(answer)).flatMap(rowsOf);
    const named = rows.flatMap((row) => {
      const { groupId, name } = nameOf(row);
      return groupId === null ? [] : [{ groupId, name: name ?? groupId }];
    });
    const names = [...new Map(named.map((name) => [name.groupId, name])).values()].slice(0, 2);
    const standard = defaultConventions.brandedGroups;
    const [first, second] = names.toSorted((a, b) => Number(isNegative(a)) - Number(isNegative(b)));
    if (first === undefined) return [];
    return [
      { true: first, false: second ?? standard.false },
      { true: second ?? standard.true, false: first },
    ];
  },
  facts: (response, question) => ({
    kind: 'values',
    values: new Map(
      isBranded(question)
        ? rowsOf(response).map((row) => [identityOf(row, GROUP), `${String(row['name'])} ${String(row['responses'])}`])
        : [],
    ),
  }),
};

/** Points about names and rows that upstream chooses. */
export const namePoints: readonly CalibrationPoint[] = [
  combinedEngine,
  competitorType,
  emptyDays,
  topCompetitors,
  ungrouped,
  brandedGroups,
];
