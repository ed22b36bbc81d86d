import { toExactJson } from '../../base/json.ts';
import { choices } from './choices.ts';
import { type Conventions, type Rounding, type ShareForm } from './conventions.ts';
import { describeRounding } from './forms.ts';
import { choiceText, orderText } from './point-words.ts';

/** What the specification leaves open, as phrases, in the order of the documentation. */
export const abouts: Readonly<Record<keyof Conventions, string>> = {
  combinedEngine: 'the engine of daily rows over all engines',
  competitorType: 'the entity type of competitors',
  emptyDays: 'whether days without responses have rows',
  topCompetitors: "the maximum number of a prompt's top competitors",
  ungrouped: 'the row of prompts without a group',
  brandedGroups: 'the ids and names of the branded and the non-branded group',
  countedResponses: 'whether responses of deleted and paused prompts are counted',
  deletedPrompts: 'whether deleted prompts stay in their groups',
  repeatedMentions: 'how a response counts that mentions a competitor twice',
  deletedPromptRows: 'whether deleted prompts with responses have a row',
  outsideDays: 'whether days before the creation of the brand have rows',
  topCompetitorsBrand: "whether the brand is one of a prompt's top competitors",
  topCompetitorsDeleted: "whether deleted competitors are among a prompt's top competitors",
  topCompetitorsUnmentioned: "whether competitors without mentions are among a prompt's top competitors",
  changePeriod: 'the earlier range of a change',
  changeFromZero: 'the relative change from a visibility of 0',
  emptyChange: 'the change of visibility since a range without responses',
  changeToEmpty: 'the change of visibility to a range without responses',
  citationCount: 'how a response counts that cites a page or a domain several times',
  trafficTotals: 'whether the totals of visits follow a filter by source',
  visibility: 'the scale and rounding of visibility',
  shareOfVoice: 'the scale and rounding of share of voice',
  deletedCompetitors: 'whether competitors that are no longer tracked count',
  avgPosition: 'the rounding of the mean position',
  labels: 'the number that each sentiment label stands for',
  sentiment: 'the rounding of the mean sentiment',
  visibilityChange: 'how a change of visibility is computed and rounded',
  domainShare: "the whole, the scale and the rounding of a domain's share",
  shareOfSite: 'the scale and rounding of the share of site sessions',
  emptyShare: 'visibility without responses',
  emptyVoice: 'share of voice without mentions',
  emptyMean: 'the mean position without mentions',
  emptySentiment: 'the mean sentiment without mentions',
  emptySite: 'the share of a site without sessions',
  unmentioned: 'whether competitors without mentions have a row',
  emptyRange: 'whether a range without responses has rows',
  groupMembers: 'the responses of a group under a filter by prompts',
  filteredGroups: 'the groups under a filter of their own kind',
  groupRows: 'whether groups without responses have a row',
  groupPrompts: 'the prompts that a group counts',
  groupPromptsFilter: 'the prompts that a group counts under a filter by prompts',
  promptRows: 'whether prompts without responses have a row',
  urlTitle: 'the title of a page that was cited under several',
  entityOrder: 'the order of the brand and its competitors',
  dayOrder: 'the order of daily rows',
  promptOrder: 'the order of prompts with equal visibility',
  groupOrder: 'the order of groups',
  domainOrder: 'the order of domains with equally many citations',
  urlOrder: 'the order of pages with equally many citations',
  visitOrder: 'the order of visits',
  topCompetitorOrder: 'the order of competitors with equally many mentions in the row of a prompt',
  responseOrder: 'the order of responses with the same time',
  alertOrder: 'the order of alerts with the same time',
  threadOrder: 'the time by which forum threads are ordered, and the order of threads with the same time',
};

/** Names of all conventions, in the order of the documentation. */
export const conventionNames = Object.keys(abouts) as readonly (keyof Conventions)[];

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
      if (Object.hasOwn(choices, name)) return `${String(value)}: ${choiceText(name, value)}`;
      return Array.isArray(value) ? orderText(value) : typeof value === 'string' ? value : toExactJson(value);
  }
}
