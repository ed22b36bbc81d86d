import { z } from 'zod';
import { day, freshness, number, type ValueOf } from '../../contract/operation/json-parts.ts';
import { defineOperation } from '../../contract/operation/operation.ts';
import { invalidParameter } from '../../contract/operation/read-input.ts';
import { DAY_MS, toTimestamp } from '../../contract/time.ts';
import { explainChange } from '../../metrics/explain/explain-change.ts';
import { explainedChange, explainedMetric } from '../../metrics/explain/explained-change.ts';
import { CHANGE_KINDS, historyQueriesOf } from '../../metrics/explain/history-queries.ts';
import { findOpportunities, OPPORTUNITY_QUERIES } from '../../metrics/explain/opportunities.ts';
import { OPPORTUNITY_KINDS, opportunity } from '../../metrics/explain/opportunity.ts';
import { history, whatChanged } from '../../metrics/explain/what-changed.ts';
import type { DayRange, Scope } from '../../metrics/model/scope-sql.ts';
import type { Query } from '../../warehouse/database.ts';
import { comparisonGaps } from './comparison-gaps.ts';
import { freshnessOf } from './scope-freshness.ts';
import { oneBrand, oneOfBrands, rangeInput, readBrands, readScope, scopeInput } from './scope-request.ts';
import type { MetricsSource, TableResult } from './table-result.ts';

const explainInput = z.object({
  metric: explainedMetric,
  ...scopeInput,
  brand: oneOfBrands,
  compare_to: z.enum(['previous', 'year']).optional().describe('Default: previous.'),
  before_from: day.optional().describe('Earlier period, instead of `compare_to`.'),
  before_to: day.optional().describe('Its last day.'),
});

const explanation = explainedChange.extend({ brand: z.string().describe('its name'), ...freshness });

/** The explanation of a change, with the freshness of its data. */
export type ChangeExplanation = ValueOf<typeof explanation>;

/** Explains the change of a metric of one brand. */
export const explainMetric = defineOperation({
  name: 'explain_change',
  path: '/data/explain',
  title: 'Explain change',
  about:
    'Why a metric of a brand changed: causes with ids of responses as evidence, effects of engines, topics and prompts that add up to the change, the changed prompt set, associated competitors and domains. States if the change is noise.',
  input: explainInput,
  output: explanation,
  run: async (source: MetricsSource, { metric, brand, ...more }) => {
    const input = { ...more, brand: brand === undefined ? [] : [brand] };
    const { replica, signal } = source;
    return replica.workLong(async (query) => {
      const scope = await readScope(source, query, input);
      const brandId = await oneBrand(query, scope, input);
      const before = readBefore(input, scope) ?? (scope.before as DayRange);
      if (before.to >= scope.from && before.from <= scope.to) {
        throw invalidParameter('compare_to', 'year', 'previous, or year with a range of at most a year');
      }
      const periods = { ...scope, before, brandId };
      const compared = { ...periods, gaps: await comparisonGaps(source, query, periods) };
      const explained = await explainChange(counted(query, source, null), {
        metric,
        scope: compared,
        labels: replica.conventions.labels,
        mayRepeat: replica.mayRepeat,
      });
      return { ...explained, brand: nameOf(source, brandId), ...freshnessIn(source, compared) };
    }, signal);
  },
});

/** Lists the changes since a time. A caller that is limited to brands gets no changes of the whole workspace, such as drift. */
export const listChanges = defineOperation({
  name: 'what_changed',
  path: '/data/changes',
  title: 'What changed',
  about:
    'Events since a day, newest first: prompts lost and won, new cited domains, alerts, articles, forum threads, edits of prompts and competitors.',
  input: z.object({
    since: z.string().default('7d').describe('A day, a time, or a number of days.'),
    brand: scopeInput.brand,
    kind: z.array(z.enum(CHANGE_KINDS)).default([]).describe('Such as prompt_lost; default: all.'),
    limit: z.int().min(1).max(10_000).optional().describe('Most changes.'),
  }),
  output: history,
  run: async (source: MetricsSource, { since, brand, kind: kinds, limit }) => {
    const sinceMs = readSince(since, source.nowMs);
    const { replica, brands: allowed, signal } = source;
    const ofBrandsOnly = allowed !== undefined || replica.allowedBrands !== null;
    return replica.replica.work(async (query) => {
      const brandIds = await readBrands(source, query, { brand });
      const queries = counted(query, source, historyQueriesOf(kinds).length);
      const { changes, ...counts } = await whatChanged(queries, brandIds, sinceMs, { kinds, ofBrandsOnly });
      return { ...counts, changes: changes.slice(0, limit) };
    }, signal);
  },
});

/** Lists the opportunities of one brand. */
export const listOpportunities = defineOperation({
  name: 'find_opportunities',
  path: '/data/opportunities',
  title: 'Find opportunities',
  about:
    'Ways to raise visibility, the greatest first: domains cited for competitors only, prompts that competitors win, cited forum threads, own pages cited once. With ids of responses as evidence.',
  input: z.object({
    ...rangeInput,
    brand: oneOfBrands,
    kind: z.array(z.enum(OPPORTUNITY_KINDS)).default([]),
    limit: z.int().min(1).max(200).default(20).describe('Most items.'),
  }),
  output: z.object({
    brandId: z.string(),
    brand: z.string().describe('its name'),
    from: day,
    to: day,
    opportunities: z.array(opportunity),
    total: number.describe(
      'number of all opportunities, at most 50 open ones of a kind; `opportunities` has at most `limit`',
    ),
    ...freshness,
  }),
  run: async (source: MetricsSource, { kind: kinds, limit, brand, ...more }) => {
    const input = { ...more, brand: brand === undefined ? [] : [brand] };
    return source.replica.workLong(async (query) => {
      const scope = { ...(await readScope(source, query, input)), before: null, gaps: [] };
      const brandId = await oneBrand(query, scope, input);
      const { from, to } = scope;
      const all = await findOpportunities(counted(query, source, OPPORTUNITY_QUERIES), brandId, { from, to });
      const found = all.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
      const opportunities = found.slice(0, limit);
      return {
        brandId,
        brand: nameOf(source, brandId),
        from,
        to,
        opportunities,
        total: found.length,
        ...freshnessIn(source, scope),
      };
    }, source.signal);
  },
});

function nameOf({ replica }: MetricsSource, brandId: string): string {
  return replica.brands.get(brandId)?.name ?? brandId;
}

// Reports each query that has ended.
function counted(query: Query, { report }: MetricsSource, total: number | null): Query {
  if (report === undefined) return query;
  let done = 0;
  return async (...given) => {
    const rows = await query(...given);
    done += 1;
    report(`Query ${done}${total === null ? '' : ` of ${total}`} has ended.`, done, total);
    return rows;
  };
}

function freshnessIn(source: MetricsSource, scope: Scope): Pick<TableResult, 'asOf' | 'completeTo' | 'partial'> {
  const { asOf, completeTo, partial } = freshnessOf(source, scope);
  return { asOf, completeTo, partial };
}

function readBefore(input: Omit<z.infer<typeof explainInput>, 'metric' | 'brand'>, after: DayRange): DayRange | null {
  const { before_from: from, before_to: to, compare_to: comparison } = input;
  if (from === undefined && to === undefined) return null;
  if (from === undefined) throw invalidParameter('before_from', '', 'a calendar day, if before_to is given');
  if (to === undefined) throw invalidParameter('before_to', '', 'a calendar day, if before_from is given');
  if (comparison !== undefined) throw invalidParameter('compare_to', comparison, 'no value, if before_from is given');
  if (from > to) throw invalidParameter('before_from', from, `${to}, the last day of that period, or an earlier one`);
  // The tests assume that no response is in both periods.
  if (from <= after.to && to >= after.from) {
    const [name, day] = from < after.from ? (['before_to', to] as const) : (['before_from', from] as const);
    throw invalidParameter(name, day, `a day before ${after.from}, or a period after ${after.to}`);
  }
  return { from, to };
}

function readSince(text: string, nowMs: number): number {
  const days = /^(\d{1,4})d$/.exec(text);
  if (days !== null) return nowMs - Number(days[1]) * DAY_MS;
  const moment = toTimestamp(text);
  if (moment !== null) {
    const sinceMs = Date.parse(`${moment.slice(0, 23).replace(' ', 'T')}Z`);
    if (sinceMs <= nowMs) return sinceMs;
    throw invalidParameter('since', text, `a time up to now (${new Date(nowMs).toISOString()})`);
  }
  throw invalidParameter('since', text, 'a day, a time such as 2026-11-20T02:15:00Z, or a number of days such as 7d');
}
