import { toExactJson } from '../../base/json.ts';
import { describeRounding } from './candidates-numbers.ts';
import type { Conventions, Rounding, ShareForm } from './conventions.ts';
import type { ReportedFindings } from './findings.ts';
import { choiceText, hasWords, orderText } from './point-words.ts';
import { membersOf } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** What the specification leaves open, by convention that reported numbers decide. */
const reported: Readonly<Record<keyof ReportedFindings, string>> = {
  visibility: 'the scale and rounding of visibility',
  shareOfVoice: 'the scale and rounding of share of voice',
  visibilityChange: 'how a change of visibility is computed and rounded',
  avgPosition: 'the rounding of the mean position',
  positionOver: 'whether mentions without a position count in the mean position',
  sentiment: 'the rounding of the mean sentiment',
  labels: 'the number that each sentiment label stands for',
  domainShare: "the whole, the scale and the rounding of a domain's share",
  shareOfSite: 'the scale and rounding of the share of site sessions',
  emptyShare: 'visibility without responses',
  emptyVoice: 'share of voice without mentions',
  emptySite: 'the share of a site without sessions',
  emptyMean: 'the mean position without mentions',
  emptySentiment: 'the mean sentiment without mentions',
  emptyChange: 'the change of visibility since a range without responses',
  emptyDays: 'whether days without responses have rows',
  combinedEngine: 'the engine of daily rows over all engines',
  competitorType: 'the entity type of competitors',
  topCompetitors: "the maximum number of a prompt's top competitors",
  ungrouped: 'the row of prompts without a group',
  responseOrder: 'the order of responses with the same time',
  alertOrder: 'the order of alerts with the same time',
  threadOrder: 'the time by which forum threads are ordered, and the order of threads with the same time',
  brandedGroups: 'the ids and names of the branded and the non-branded group',
};

const byPoint = new Map<string, string>(calibrationPoints.flatMap((point) => [...membersOf(point)]));

/** Names of all conventions, in the order of the documentation. */
export const conventionNames: readonly (keyof Conventions)[] = [
  ...(Object.keys(reported) as (keyof ReportedFindings)[]),
  ...([...byPoint.keys()] as (keyof Conventions)[]).filter((name) => !Object.hasOwn(reported, name)),
];

/** Returns what the specification leaves open, as a phrase. */
export function aboutConvention(name: keyof Conventions): string {
  return byPoint.get(name) ?? reported[name as keyof ReportedFindings];
}

/** Returns the value of a convention in a few words. */
export function describeConvention(name: keyof Conventions, value: unknown): string {
  switch (name) {
    case 'visibility':
    case 'shareOfVoice':
    case 'shareOfSite':
    case 'visibilityChange':
    case 'domainShare': {
      const form = value as ShareForm & { readonly as?: string; readonly of?: string };
      const details = [form.as, form.of === undefined ? undefined : `of ${form.of}`].filter(
        (part) => part !== undefined,
      );
      return [form.whole === 100 ? 'percent' : 'fraction', describeRounding(form), ...details].join(', ');
    }
    case 'avgPosition':
    case 'sentiment':
      return describeRounding(value as Rounding);
    case 'labels':
      return Object.entries(value as Record<string, number>)
        .map(([label, weight]) => `${label} ${weight}`)
        .join(', ');
    default:
      if (hasWords(name)) return `${String(value)}: ${choiceText(name, value as Conventions[typeof name])}`;
      return Array.isArray(value) ? orderText(value) : typeof value === 'string' ? value : toExactJson(value);
  }
}
