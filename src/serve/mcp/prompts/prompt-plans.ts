import { COUNT_OF_RESPONSES } from '../../../analytics/model/measures.ts';
import { explainAlert } from './alert-plan.ts';
import {
  brandFact,
  call,
  comparisonFact,
  daysFact,
  ignoreAfter,
  last,
  MONTH_DAYS,
  required,
  scopeOf,
  shown,
  WEEK_DAYS,
} from './plan-parts.ts';
import type { Prompt } from './planned-prompt.ts';

const SCORES = ['visibility', 'share_of_voice', 'position', 'sentiment'];

const weeklyBrandBrief: Prompt = {
  name: 'weekly_brand_brief',
  title: 'Weekly brand brief',
  about: 'A one-page brief about the last 7 complete days of a brand: numbers, causes of changes, events, next steps.',
  arguments: { brand: true, to: false },
  plan: ({ brand: given, to }) => {
    const { brand, facts, range } = scopeOf(given, to, WEEK_DAYS);
    const compared = { ...range, brand: [brand.id], compare_to: 'previous' };
    return {
      task: `Write the weekly brief of the brand ${shown(brand)} for its marketing team.`,
      facts: [...facts, comparisonFact(range.from, WEEK_DAYS)],
      calls: [
        call('The scores of the week, and the tested change.', 'query_metrics', { metrics: SCORES, ...compared }),
        call('The visibility in each engine.', 'query_metrics', {
          metrics: ['visibility'],
          group_by: ['engine'],
          ...compared,
          order: ['-visibility'],
        }),
        call('The brand among its competitors.', 'query_metrics', {
          metrics: ['visibility', 'share_of_voice', 'position'],
          group_by: ['entity'],
          ...compared,
          order: ['-visibility'],
          limit: 10,
        }),
        call('The causes of the change.', 'explain_change', { metric: 'visibility', brand: brand.id, ...range }),
        call(`The events of the week. ${ignoreAfter(range.to)}`, 'what_changed', {
          since: range.from,
          brand: [brand.id],
        }),
        call('The next steps.', 'find_opportunities', { brand: brand.id, ...last(to, MONTH_DAYS), limit: 5 }),
      ],
      form: [
        'Two sentences with the state of the week, and whether anything changed beyond noise.',
        'A table of the scores: this week, the week before, n, interval, verdict.',
        'Engines and competitors: only changes beyond noise.',
        'Causes of the change, or the statement that it is noise.',
        'At most five events and at most three next steps, each with its evidence.',
      ],
    };
  },
};

const competitorDeepDive: Prompt = {
  name: 'competitor_deep_dive',
  title: 'Competitor deep dive',
  about: 'A comparison of a brand with one competitor over 28 days: engines, topics, prompts, and cited domains.',
  arguments: { brand: true, competitor: true, to: false },
  plan: ({ brand: given, competitor, to }) => {
    const { brand, facts, range } = scopeOf(given, to, MONTH_DAYS);
    const rival = required(competitor, 'competitor');
    const beside = { ...range, brand: [brand.id], where: { competitor: rival.id } };
    return {
      task: `Compare the brand ${shown(brand)} with its competitor ${shown(rival)}.`,
      facts: [...facts, ['Competitor', `${shown(rival)}, id ${rival.id}`], comparisonFact(range.from, MONTH_DAYS)],
      calls: [
        call('The brand and the competitor among all competitors.', 'query_metrics', {
          metrics: ['visibility', 'share_of_voice', 'position', 'sentiment'],
          group_by: ['entity'],
          ...range,
          brand: [brand.id],
          compare_to: 'previous',
          order: ['-visibility'],
        }),
        call('The brand and the competitor in each engine. Ignore other competitors.', 'query_metrics', {
          metrics: ['visibility', 'position'],
          group_by: ['entity', 'engine'],
          ...range,
          brand: [brand.id],
        }),
        call(
          'Topics of the responses that mention the competitor, with the visibility of the brand in them.',
          'query_metrics',
          {
            metrics: [COUNT_OF_RESPONSES, 'visibility'],
            group_by: ['topic'],
            ...beside,
            order: ['visibility'],
          },
        ),
        call('Prompts of these responses, those without the brand first.', 'query_metrics', {
          metrics: [COUNT_OF_RESPONSES, 'visibility'],
          group_by: ['prompt'],
          ...beside,
          order: ['visibility', '-responses'],
          limit: 20,
        }),
        call('Domains that these responses cite.', 'query_metrics', {
          metrics: ['citing_responses'],
          group_by: ['domain'],
          ...beside,
          order: ['-citing_responses'],
          limit: 20,
        }),
        call('Prompts that competitors win, and domains cited for competitors only.', 'find_opportunities', {
          brand: brand.id,
          ...range,
          kind: ['competitor_wins', 'source_gap'],
        }),
      ],
      form: [
        'Two sentences: the visibility of both with their intervals and n, and the tested change of each since the days before. The difference of the two is not tested: do not claim that it is significant or noise.',
        'A table of both: visibility, share of voice, position, sentiment, with n, interval and tested change.',
        'Engines and topics with the greatest differences: both values with interval and n, without a claim about noise.',
        'At most five prompts that the competitor wins, with ids of responses.',
        'Domains that support the competitor, and what to do about them.',
      ],
    };
  },
};

const contentGaps: Prompt = {
  name: 'content_gaps',
  title: 'Content gaps',
  about:
    'Content that a brand lacks: weak topics and prompts, domains cited for competitors only, forum threads, own pages.',
  arguments: { brand: true, to: false },
  plan: ({ brand: given, to }) => {
    const { brand, facts, range } = scopeOf(given, to, MONTH_DAYS);
    const ofBrand = { ...range, brand: [brand.id] };
    return {
      task: `Find the content that the brand ${shown(brand)} lacks.`,
      facts,
      calls: [
        call('Domains cited for competitors only, and prompts that competitors win.', 'find_opportunities', {
          brand: brand.id,
          ...range,
          kind: ['source_gap', 'competitor_wins'],
        }),
        call('Forum threads that engines cite, and own pages that are cited once.', 'find_opportunities', {
          brand: brand.id,
          ...range,
          kind: ['forum_thread', 'page_cited_once'],
        }),
        call('Topics, the weakest first.', 'query_metrics', {
          metrics: ['visibility', COUNT_OF_RESPONSES],
          group_by: ['topic'],
          ...ofBrand,
          order: ['visibility'],
        }),
        call('Prompts, the weakest first.', 'query_metrics', {
          metrics: ['visibility', COUNT_OF_RESPONSES],
          group_by: ['prompt'],
          ...ofBrand,
          order: ['visibility', '-responses'],
          limit: 20,
        }),
        call('Owners of the cited domains.', 'query_metrics', {
          metrics: ['citation_share', 'citations'],
          group_by: ['owner'],
          ...ofBrand,
          order: ['-citations'],
        }),
        call('Articles that already exist or are planned.', 'list_articles', { brandId: brand.id }),
      ],
      form: [
        'Two sentences: the greatest gap, and its size in responses.',
        'A table of at most ten gaps: topic or prompt, n, visibility with interval, the domain or page that is cited instead.',
        'For each gap: a new article, a change of an existing page, or an entry on a cited domain or thread.',
        'Gaps that an existing article already covers, with its state.',
      ],
    };
  },
};

const dataQualityCheck: Prompt = {
  name: 'data_quality_check',
  title: 'Data quality check',
  about: 'Whether the data are complete and current enough to report numbers.',
  arguments: { brand: false, to: false },
  plan: ({ brand, to }) => {
    const range = last(to, 2 * WEEK_DAYS);
    const ofBrand = brand === null ? {} : { brand: [brand.id] };
    return {
      task: `Check the data ${brand === null ? 'of all brands' : `of the brand ${shown(brand)}`} before numbers are reported.`,
      facts: [...(brand === null ? [] : [brandFact(brand)]), daysFact(range)],
      calls: [
        call('Responses of each day and brand. A missing or low day is a gap.', 'query_metrics', {
          metrics: [COUNT_OF_RESPONSES],
          group_by: ['brand'],
          grain: 'day',
          ...range,
          ...ofBrand,
          order: ['brand', 'period'],
        }),
        call('Responses of each engine in these days and before.', 'query_metrics', {
          metrics: [COUNT_OF_RESPONSES],
          group_by: ['brand', 'engine'],
          ...range,
          ...ofBrand,
          compare_to: 'previous',
        }),
        call(
          `Changes of the set of prompts and competitors, drift of the API, and failed verifications. ${ignoreAfter(range.to)}`,
          'what_changed',
          {
            since: range.from,
            ...ofBrand,
            limit: 100,
          },
        ),
        call('The newest sync runs.', 'query', {
          sql: 'SELECT kind, status, started_at, ended_at FROM sync.runs ORDER BY started_at DESC LIMIT 10',
        }),
        call('Items that could not be stored.', 'query', {
          sql: 'SELECT count(*) AS items FROM sync.quarantine',
        }),
        call('Brands, as the API reports them.', 'list_brands', {}),
      ],
      form: [
        'One sentence: the last day and the brands for which numbers can be reported.',
        'A table of problems: brand, days, engine, effect on the numbers. If there are no problems, state that.',
        'Changes of the set of prompts that make periods incomparable.',
        'The next step for each problem, such as a sync or a verification.',
      ],
    };
  },
};

/** The prompts, in the order of lists. */
export const prompts: readonly Prompt[] = [
  weeklyBrandBrief,
  competitorDeepDive,
  explainAlert,
  contentGaps,
  dataQualityCheck,
];
