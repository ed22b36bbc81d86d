import { toCanonicalJson } from '../../../base/json.ts';
import { type Conventions, defaultConventions } from '../conventions.ts';
import { identityOf, isCombined, members, rowsOf, topCompetitors, values } from './facts.ts';
import { type CalibrationPoint, factsIn, isAbout, type PointContext, pointOf, type ReportQuestion } from './point.ts';

/** Maximum number of candidate names. */
const NAMES_MAX = 20;
/** More competitors than any brand tracks. */
const TOP_UNBOUNDED = 1_000_000;

function valuesSeen(point: CalibrationPoint, { answers }: PointContext): unknown[] {
  return [...new Map(factsIn(point, answers).map((value) => [toCanonicalJson(value), value])).values()].slice(
    0,
    NAMES_MAX,
  );
}

const combinedEngine: CalibrationPoint = pointOf(['combinedEngine'], ['metrics_daily'], values('engine'), {
  concerns: isCombined,
  isOpen: true,
  candidatesIn: async (context) =>
    valuesSeen(combinedEngine, context).map((name) => ({ combinedEngine: name as string | null })),
});

const competitorType: CalibrationPoint = pointOf(
  ['competitorType'],
  ['metrics', 'metrics_daily'],
  values('entityType'),
  {
    isOpen: true,
    candidatesIn: async (context) =>
      valuesSeen(competitorType, context).flatMap((name) =>
        typeof name === 'string' && name !== 'brand' ? [{ competitorType: name }] : [],
      ),
  },
);

// A wrong maximum explains most lists with another wrong value.
const topIds: CalibrationPoint = pointOf(
  ['topCompetitors', 'topCompetitorsBrand', 'topCompetitorsDeleted', 'topCompetitorsUnmentioned'],
  ['metrics_prompts'],
  topCompetitors((rivals) => rivals.map((rival) => identityOf(rival, ['competitorId'])).sort()),
  {
    candidatesIn: async ({ answers }) => {
      const lengths = (factsIn(topIds, answers) as string[][]).map(({ length }) => length);
      const most = [Math.max(0, ...lengths), TOP_UNBOUNDED];
      return most.flatMap((max) => topIds.candidates.map((candidate) => ({ ...candidate, topCompetitors: max })));
    },
  },
);

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

const ungrouped: CalibrationPoint = pointOf(['ungrouped'], ['metrics_groups'], members(), {
  concerns: (question) => !isBranded(question),
  // Rows of groups that are not known.
  candidatesIn: async ({ answers, conventions, compute }) => {
    const names: GroupName[] = [{ groupId: null, name: null }];
    for (const answer of answers) {
      if (!isAbout(ungrouped, answer) || !isUnfiltered(answer)) continue;
      const ours = await compute(answer, answer.askedAt, { ...conventions, ungrouped: null, groupRows: 'all' });
      const known = new Set(rowsOf(ours).map((row) => identityOf(row, ['groupId'])));
      const unknown = rowsOf(answer).filter((row) => !known.has(identityOf(row, ['groupId'])));
      if (unknown.length === 1) names.push(...unknown.map(nameOf));
    }
    // A found name replaces the assumed one.
    const found = [...new Map(names.map((name) => [name.groupId, name])).values()].slice(0, NAMES_MAX);
    return found.map((name) => ({ ungrouped: name }));
  },
});

function isNegative(name: GroupName): boolean {
  return /\b(non|not|un|no\b|false|generic|other)/i.test(JSON.stringify(name));
}

const brandedGroups: CalibrationPoint = pointOf(['brandedGroups'], ['metrics_groups'], values('name', 'responses'), {
  concerns: isBranded,
  isOpen: true,
  // Each of the names may be that of either group; the more likely assignment comes first.
  candidatesIn: async ({ answers }) => {
    const rows = answers.filter((answer) => isAbout(brandedGroups, answer)).flatMap(rowsOf);
    const named = rows.flatMap((row) => {
      const { groupId, name } = nameOf(row);
      return groupId === null ? [] : [{ groupId, name: name ?? groupId }];
    });
    const names = [...new Map(named.map((name) => [name.groupId, name])).values()].slice(0, 2);
    const standard = defaultConventions.brandedGroups;
    const [first, second] = names.toSorted((a, b) => Number(isNegative(a)) - Number(isNegative(b)));
    if (first === undefined) return [];
    return [
      { brandedGroups: { true: first, false: second ?? standard.false } },
      { brandedGroups: { true: second ?? standard.true, false: first } },
    ];
  },
});

/** Points about names and rows that upstream chooses. */
export const namePoints: readonly CalibrationPoint[] = [
  combinedEngine,
  competitorType,
  pointOf(['emptyDays'], ['metrics_daily'], members()),
  topIds,
  ungrouped,
  brandedGroups,
];
