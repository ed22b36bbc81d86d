import { explainedMetrics } from '../../../analytics/explain/explained-metrics.ts';
import { CHANGE_KINDS } from '../../../analytics/explain/history-queries.ts';
import { OPPORTUNITY_KINDS } from '../../../analytics/explain/opportunities.ts';
import {
  type ChangeExplanation,
  explainMetric,
  listChanges,
  listOpportunities,
} from '../../../query/metrics/explanations.ts';
import { invalidParameter } from '../../../query/metrics/scope-request.ts';
import type { MetricsSource } from '../../../query/metrics/table-result.ts';
import type { DataTool } from '../data-tool.ts';
import { scopeArguments } from './metrics-tools.ts';

const CHANGES = { least: 1, most: 1_000, standard: 50 } as const;
const OPPORTUNITIES = { least: 1, most: 200, standard: 20 } as const;
/** Members of each dimension that an explanation shows, those with the greatest effects. */
const MEMBERS_MAX = 5;
/** Responses that show an opportunity. */
const EVIDENCE_MAX = 2;
const SIGNIFICANT_DIGITS = 4;

const { brand: _, ...range } = scopeArguments;

/** Explains the change of a metric. */
export const explainChange: DataTool = {
  name: 'explain_change',
  title: 'Explain change',
  about:
    'Why a metric of a brand changed: causes with ids of responses as evidence, effects of engines, topics and prompts that add up to the change, the changed prompt set, associated competitors and domains. Says if the change is noise.',
  scope: 'metrics',
  arguments: {
    metric: { kind: 'text', isRequired: true, choices: Object.keys(explainedMetrics) },
    brand: { kind: 'text', isRequired: true },
    ...range,
    before_from: { kind: 'text', about: 'Default: the preceding days.' },
    before_to: { kind: 'text' },
  },
  members: ['summary', 'total', 'causes', 'prompt_set', 'effects', 'associations'],
  run: async ({ source }, values) => {
    const names = ['metric', 'brand', 'from', 'to', 'where', 'before_from', 'before_to'];
    const explained = await explainMetric(await source(), values.parameters(names));
    return {
      content: shown(explained) as Record<string, unknown>,
      asOf: explained.asOf,
      isPartial: explained.partial,
      completeTo: explained.completeTo,
    };
  },
};

/** Lists changes since a time. */
export const whatChanged: DataTool = {
  name: 'what_changed',
  title: 'What changed',
  about:
    'Events since a day: prompts lost and won, new cited domains, alerts, articles, forum threads, edits of prompts and competitors.',
  scope: 'metrics',
  arguments: {
    since: { kind: 'text', isRequired: true, about: 'Day, time, or 7d.' },
    brand: scopeArguments.brand,
    kinds: { kind: 'list', about: 'Such as prompt_lost; default all.' },
    limit: { kind: 'count', ...CHANGES },
  },
  members: ['counts', 'columns', 'changes'],
  run: async ({ source, workspace }, values) => {
    const from = await source();
    const { changes, counts } = await listChanges(from, values.parameters(['since', 'brand']));
    const kinds = values.list('kinds');
    const unknown = kinds.find((kind) => !CHANGE_KINDS.some((known) => known === kind));
    if (unknown !== undefined) throw invalidParameter('kinds', unknown, CHANGE_KINDS.join(', '), CHANGE_KINDS);
    const asked = changes.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
    const total = Object.entries(counts).filter(([kind]) => kinds.length === 0 || kinds.includes(kind));
    const { syncedAt } = await workspace.service.freshness();
    return {
      content: { counts: Object.fromEntries(total), columns: ['at', 'kind', 'brand', 'sentence', 'ids'] },
      list: {
        name: 'changes',
        rows: asked
          .slice(0, values.count('limit'))
          .map(({ at, kind, brandId, sentence, ids }) => [at, kind, nameOf(from, brandId), sentence, ids]),
      },
      total: total.reduce((sum, [, count]) => sum + (count ?? 0), 0),
      asOf: syncedAt === null ? null : new Date(syncedAt).toISOString(),
      isPartial: false,
    };
  },
};

/** Lists opportunities of a brand. */
export const findOpportunities: DataTool = {
  name: 'find_opportunities',
  title: 'Find opportunities',
  about:
    'Ways to raise visibility, the greatest first: domains cited for competitors only, prompts that competitors win, cited forum threads, own pages cited once. With ids of responses as evidence.',
  scope: 'metrics',
  arguments: {
    brand: { kind: 'text', isRequired: true },
    from: range.from,
    to: range.to,
    kinds: { kind: 'list', choices: OPPORTUNITY_KINDS },
    limit: { kind: 'count', ...OPPORTUNITIES },
  },
  members: ['columns', 'opportunities'],
  run: async ({ source }, values) => {
    const found = await listOpportunities(await source(), values.parameters(['brand', 'from', 'to']));
    const kinds = values.list('kinds');
    const asked = found.opportunities.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
    return {
      content: { from: found.from, to: found.to, columns: ['rank', 'kind', 'id', 'n', 'sentence', 'evidence'] },
      list: {
        name: 'opportunities',
        rows: asked
          .slice(0, values.count('limit'))
          .map(({ rank, kind, id, n, sentence, evidence }) => [
            rank,
            kind,
            id,
            n,
            sentence,
            evidence.slice(0, EVIDENCE_MAX),
          ]),
      },
      total: asked.length,
      asOf: found.asOf,
      isPartial: found.partial,
      completeTo: found.completeTo,
    };
  },
};

function nameOf({ replica }: MetricsSource, brandId: string | null): string | null {
  return brandId === null ? null : (replica.brands.get(brandId)?.name ?? brandId);
}

// Causes are shown completely, members of dimensions by their effects, and associations only if they are significant.
function shown(explained: ChangeExplanation): unknown {
  const { metric, summary, total, causes, promptSet, dimensions, associations, ...periods } = explained;
  const significant = associations.filter(({ occurrence }) => occurrence.verdict === 'significant');
  return rounded({
    metric,
    from: periods.from,
    to: periods.to,
    before_from: periods.beforeFrom,
    before_to: periods.beforeTo,
    summary,
    total,
    causes: causes.map(({ sentence, effect, p, evidence }) => ({ sentence, effect, p, evidence })),
    prompt_set: promptSet,
    effects: dimensions.map(({ dimension, mix, rate, members }) => ({
      dimension,
      mix,
      rate,
      columns: ['name', 'id', 'before', 'after', 'n_before', 'n_after', 'mix', 'rate', 'verdict'],
      rows: members
        .toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
        .slice(0, MEMBERS_MAX)
        .map((one) => [
          one.name,
          dimension === 'engine' ? null : one.id,
          one.before,
          one.after,
          one.nBefore,
          one.nAfter,
          one.mix,
          one.rate,
          one.verdict,
        ]),
      others: Math.max(0, members.length - MEMBERS_MAX),
    })),
    associations: significant.map(({ sentence, evidence }) => ({ sentence, evidence })),
    associations_within_noise: associations.length - significant.length,
  });
}

function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(SIGNIFICANT_DIGITS));
  if (Array.isArray(value)) return value.map(rounded);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rounded(inner)]));
}
