import { z } from 'zod';
import { dayOf } from '../../../contract/time.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../../metrics/explain/history-queries.ts';
import { briefBrand } from '../../../read/metrics/brief-brand.ts';
import {
  type ChangeExplanation,
  explainMetric,
  listChanges,
  listOpportunities,
} from '../../../read/metrics/explanations.ts';
import { CHANGE_PAGES, OPPORTUNITIES, OVERVIEW, type PageView } from '../../../read/metrics/result-pages.ts';
import type { MetricsSource } from '../../../read/metrics/table-result.ts';
import { syncedAtOf, toBriefValue } from '../brief-values.ts';
import { pageLink } from '../page-link.ts';
import type { ToolOutput } from '../tool-result.ts';
import { operationTool } from '../tool.ts';

/** Members of each dimension that an explanation shows, those with the greatest effects; fewer if it would be too long. */
const MEMBERS_SHOWN = [5, 3, 1, 0] as const;
/** Responses that show an opportunity. */
const EVIDENCE_MAX = 2;

const FIRST_SYNC = 'SELECT epoch_ms(min(started_at)) FROM sync.runs';

/** Says what happened to a brand. */
export const brief = operationTool(briefBrand, {
  results: ['headline', 'from', 'to', 'findings', 'url'],
  own: z.object({}),
  brief: async ({ context, result }) => {
    const { brandId, from, to, headline, findings } = result;
    const url = await pageLink(context, new URLSearchParams({ brand: brandId, from, to }), OVERVIEW);
    const listed = findings.map(({ kind, tone, sentence, detail, page }) => ({ kind, tone, sentence, detail, page }));
    return { content: { headline, from, to, findings: listed, ...url } };
  },
});

/** Explains the change of a metric. */
export const explainChange = operationTool(explainMetric, {
  results: ['summary', 'total', 'causes', 'prompt_set', 'effects', 'associations', 'url'],
  own: z.object({}),
  brief: async ({ context, result, given }) => {
    const filters = new URLSearchParams([...given].filter(([name]) => name !== 'compare_to'));
    const { from, to, beforeFrom, beforeTo, metric: measure } = result;
    const more = { of: 'period', a: `${from}..${to}`, b: `${beforeFrom}..${beforeTo}`, measure };
    const url = await pageLink(context, filters, { path: '/compare', more });
    const [content, ...shorter] = MEMBERS_SHOWN.map((members) => ({
      content: { ...(shown(result, members) as Record<string, unknown>), ...url },
      omitted: `Only ${members} members of each dimension are listed: allow more with max_tokens.`,
    }));
    return { content: content?.content ?? {}, shorter };
  },
});

/** Lists changes since a time. */
export const whatChanged = operationTool(listChanges, {
  results: ['since', 'counts', 'columns', 'changes', 'url'],
  own: z.object({}),
  // The layer lists at most 200 changes of a kind, so the newest 200 of all kinds are without gaps.
  standards: { limit: 50 },
  brief: async ({ context, source, result: { changes, counts, since }, given }) => {
    const kinds = CHANGE_KINDS.filter((kind) => counts[kind] !== undefined);
    const days = new URLSearchParams(given.getAll('brand').map((brand): [string, string] => ['brand', brand]));
    days.set('from', since.slice(0, 10));
    days.set('to', dayOf(source.nowMs));
    const url = await pageLink(context, days, pageOfKinds(kinds));
    const columns = ['at', 'kind', 'brand', 'sentence', 'ids'];
    const rows = changes.map(({ at, kind, brand, sentence, ids }) => [at, kind, brand, sentence, ids]);
    return {
      content: { since, counts, ...url, columns, changes: rows },
      lists: ['changes'],
      total: Object.values(counts).reduce((sum, count) => sum + count, 0),
      asOf: await syncedAtOf(context.workspace.service),
      ...(await beginningRemark(source, since)),
    };
  },
});

// Histories begin with the first sync, so earlier edits of lists are not known.
async function beginningRemark(
  { replica, signal }: MetricsSource,
  since: string,
): Promise<Pick<ToolOutput, 'remarks'>> {
  const [[beganAt] = []] = await replica.replica.work((query) => query(FIRST_SYNC), signal);
  const began = beganAt === null || beganAt === undefined ? null : new Date(Number(beganAt)).toISOString();
  return began === null || began <= since
    ? {}
    : { remarks: [`The first sync was at ${began}: edits of lists before it are not known.`] };
}

/** Lists opportunities of a brand. */
export const findOpportunities = operationTool(listOpportunities, {
  results: ['from', 'to', 'url', 'columns', 'opportunities'],
  own: z.object({}),
  brief: async ({ context, result: { brandId, from, to, opportunities, total } }) => {
    const url = await pageLink(context, new URLSearchParams({ brand: brandId, from, to }), OPPORTUNITIES);
    const rows = opportunities.map(({ rank, kind, id, n, sentence, evidence }) => {
      return [rank, kind, id, n, sentence, evidence.slice(0, EVIDENCE_MAX)];
    });
    return {
      content: { from, to, ...url, columns: ['rank', 'kind', 'id', 'n', 'sentence', 'evidence'], opportunities: rows },
      lists: ['opportunities'],
      total,
    };
  },
});

// Returns the overview if the kinds have different pages.
function pageOfKinds(kinds: readonly ChangeKind[]): PageView {
  const found = new Set(kinds.map((kind) => CHANGE_PAGES[kind]));
  const [only] = found;
  return only !== undefined && found.size === 1 ? only : OVERVIEW;
}

// Causes are shown completely, members of dimensions by their effects.
function shown(explained: ChangeExplanation, membersMax: number): unknown {
  const { metric, summary, total, causes, promptSet, dimensions, associations, associationsWithinChance, ...periods } =
    explained;
  return toBriefValue({
    metric,
    from: periods.from,
    to: periods.to,
    beforeFrom: periods.beforeFrom,
    beforeTo: periods.beforeTo,
    summary,
    total,
    causes: causes.map(({ sentence, effect, p, evidence }) => ({ sentence, effect, p, evidence })),
    promptSet,
    effects: dimensions.map(({ dimension, mix, rate, members }) => ({
      dimension,
      mix,
      rate,
      columns: ['name', 'id', 'before', 'after', 'n_before', 'n_after', 'mix', 'rate', 'verdict'],
      rows: members
        .toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
        .slice(0, membersMax)
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
      others: Math.max(0, members.length - membersMax),
    })),
    // The three effects of a competitor or domain add up to the change.
    associations: associations.map(({ sentence, occurrenceEffect, withEffect, withoutEffect, evidence }) => {
      return { sentence, occurrenceEffect, withEffect, withoutEffect, evidence };
    }),
    associationsWithinChance,
  });
}
