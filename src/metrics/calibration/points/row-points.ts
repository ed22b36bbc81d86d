import { emptySentimentOf, emptyVoiceOf } from '../../numbers/definitions.ts';
import { identityOf, members, order, rowsOf, topCompetitors, values } from './facts.ts';
import { type CalibrationPoint, type Compared, type Facts, pointOf, type ReportQuestion } from './point.ts';

const TOTALS = ['metrics', 'metrics_daily'];
const PROMPTS = ['metrics_prompts'];
const GROUPS = ['metrics_groups'];
const CHANGES = [...PROMPTS, ...GROUPS];
const NUMBERS = [...TOTALS, ...CHANGES];

/** Whether the facts also depend on how numbers are computed and written. */
const PARTIAL = { isPartial: true };

/** Points about which responses, mentions, citations and visits count. */
export const countPoints: readonly CalibrationPoint[] = [
  pointOf(['countedResponses'], TOTALS, values('responses')),
  pointOf(['deletedPrompts'], ['metrics', ...GROUPS], values('responses')),
  pointOf(['repeatedMentions'], ['metrics_daily'], values('mentions', 'avgPosition', 'sentiment'), PARTIAL),
  pointOf(['deletedPromptRows'], PROMPTS, members()),
  pointOf(['outsideDays'], ['metrics_daily'], members()),
  pointOf(['changeFromZero'], CHANGES, values('visibilityChange'), PARTIAL),
  // The change between two ranges without responses depends on both.
  pointOf(['emptyChange', 'changeToEmpty'], CHANGES, values('visibilityChange'), PARTIAL),
  pointOf(['citationCount'], ['cited_domains', 'cited_urls'], values('citations')),
  pointOf(['trafficTotals'], ['traffic'], values('aiSessions', 'keyEvents', 'revenue', 'shareOfSite')),
];

/** Points about numbers without responses, mentions or sessions, about which rows reports have, and about their order. */
export const rowPoints: readonly CalibrationPoint[] = [
  pointOf(['emptyShare'], NUMBERS, values('visibility'), PARTIAL),
  pointOf(['emptyVoice'], [...TOTALS, ...GROUPS], values('shareOfVoice'), {
    ...PARTIAL,
    settles: { emptyVoice: emptyVoiceOf },
  }),
  pointOf(['emptyMean'], NUMBERS, values('avgPosition'), PARTIAL),
  pointOf(['emptySentiment'], NUMBERS, values('sentiment'), {
    ...PARTIAL,
    settles: { emptySentiment: emptySentimentOf },
  }),
  pointOf(['emptySite'], ['traffic'], values('shareOfSite'), {
    ...PARTIAL,
    settles: { emptySite: ({ emptySite, emptyShare }) => (emptySite === 'share' ? emptyShare : emptySite) },
  }),
  pointOf(['unmentioned'], TOTALS, members()),
  pointOf(['emptyRange'], ['metrics'], members()),
  pointOf(['groupMembers'], GROUPS, values('responses')),
  pointOf(['filteredGroups'], GROUPS, members()),
  pointOf(['groupRows'], GROUPS, members()),
  // A wrong value of one explains most numbers with a wrong value of the other.
  pointOf(['groupPrompts', 'groupPromptsFilter'], GROUPS, values('prompts')),
  pointOf(['promptRows'], PROMPTS, members()),
  pointOf(['urlTitle'], ['cited_urls'], members('title')),
  pointOf(['entityOrder'], TOTALS, entityOrder, PARTIAL),
  pointOf(['dayOrder'], ['metrics_daily'], order),
  pointOf(['promptOrder'], PROMPTS, order),
  pointOf(['groupOrder'], GROUPS, order),
  pointOf(['domainOrder'], ['cited_domains'], order),
  pointOf(['urlOrder'], ['cited_urls'], order),
  pointOf(['visitOrder'], ['traffic'], order),
  pointOf(
    ['topCompetitorOrder'],
    PROMPTS,
    topCompetitors((rivals) => rivals.map((rival) => identityOf(rival, ['competitorId', 'mentions'])).join()),
    PARTIAL,
  ),
];

// The order of the competitors of each day and engine is evidence in any order of days.
function entityOrder(response: Compared, question: ReportQuestion): Facts {
  if (question.resource === 'metrics') return order(response, question);
  const found = new Map<string, string>();
  for (const row of rowsOf(response)) {
    const day = identityOf(row, ['date', 'engine']);
    found.set(day, `${found.get(day) ?? ''} ${identityOf(row, ['competitorId'])}`);
  }
  return { kind: 'values', values: found };
}
