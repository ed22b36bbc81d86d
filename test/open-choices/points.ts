import type { CalibratedPoint } from '../../src/analytics/calibration/calibrated-points.ts';
import type { Finding } from './exam.ts';

/** Beginnings of names of points, by the field of a difference. The names are those that `sightline calibration` prints. */
const POINTS_OF: readonly (readonly [field: RegExp, points: readonly string[]])[] = [
  [/visibilityChange/, ['visibilityChange', 'change', 'emptyChange']],
  [/visibility$/, ['visibility', 'emptyShare', 'countedResponses']],
  [/shareOfVoice/, ['shareOfVoice', 'emptyVoice', 'deletedCompetitors']],
  [/avgPosition/, ['avgPosition', 'emptyMean', 'positionOver']],
  [/sentiment/, ['sentiment', 'labels', 'emptySentiment', 'emptyMean']],
  [/share$/, ['domainShare']],
  [/shareOfSite/, ['shareOfSite', 'emptySite']],
  [/totals/, ['trafficTotals']],
  [/title/, ['urlTitle']],
  [/topCompetitors/, ['topCompetitor', 'emptyTop']],
  [/\.prompts$/, ['groupPrompts']],
  [/responses|mentions/, ['countedResponses', 'groupMembers', 'deletedPrompts']],
  [/engine/, ['combinedEngine']],
  [/entityType/, ['competitorType']],
  [/groupId|name/, ['ungrouped', 'brandedGroups']],
  [
    /\(order\)/,
    ['entityOrder', 'dayOrder', 'promptOrder', 'groupOrder', 'domainOrder', 'urlOrder', 'visitOrder', 'listOrder'],
  ],
  [
    /\(rows\)/,
    [
      'groupRows',
      'filteredGroups',
      'ungrouped',
      'promptRows',
      'deletedPrompt',
      'deletedCompetitors',
      'unmentioned',
      'emptyRange',
      'emptyDays',
      'outsideDays',
      'domainOrder',
      'urlOrder',
    ],
  ],
];

/** Whether calibration lists a point that explains the difference as undetermined or contradicted. */
export function isExplained({ field }: Finding, points: readonly CalibratedPoint[]): boolean {
  const open = points.filter(({ state }) => state === 'undetermined' || state === 'contradicted');
  const names = POINTS_OF.filter(([pattern]) => pattern.test(field)).flatMap(([, beginnings]) => beginnings);
  return open.some(({ name }) => names.some((beginning) => name.startsWith(beginning)));
}
