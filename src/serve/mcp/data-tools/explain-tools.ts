import { explainedMetrics } from '../../../analytics/explain/explained-metrics.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../../analytics/explain/history-queries.ts';
import { LISTED_MAX, OPPORTUNITY_KINDS, type OpportunityKind } from '../../../analytics/explain/opportunities.ts';
import { CHANGES_LISTED } from '../../../analytics/explain/what-changed.ts';
import { dayOf } from '../../../contract/time.ts';
import { OPPORTUNITIES_LISTED, OPPORTUNITIES_MAX } from '../../../query/metrics/explanation-parameters.ts';
import {
  type ChangeExplanation,
  explainMetric,
  listChanges,
  listOpportunities,
} from '../../../query/metrics/explanations.ts';
import type { MetricsSource } from '../../../query/metrics/table-result.ts';
import { syncedAtOf, toBriefValue } from '../brief-values.ts';
import type { DataTool, ToolOutput } from '../data-tool.ts';
import { OVERVIEW, type PageView, pageLink } from '../page-link.ts';
import { scopeArguments } from './metrics-tools.ts';

// The layer lists at most 200 changes of a kind, so the newest 200 of all kinds are without gaps.
const CHANGES = { least: 1, most: CHANGES_LISTED, standard: 50 } as const;
const OPPORTUNITIES = { least: 1, most: OPPORTUNITIES_MAX, standard: OPPORTUNITIES_LISTED } as const;
/** Members of each dimension that an explanation shows, those with the greatest effects; fewer if it would be too long. */
const MEMBERS_SHOWN = [5, 3, 1, 0] as const;
/** Responses that show an opportunity. */
const EVIDENCE_MAX = 2;

const FIRST_SYNC = 'SELECT epoch_ms(min(started_at)) FROM sync.runs';

const CONTENT: PageView = { path: '/content' };
const FORUM: PageView = { path: '/content', more: { view: 'forum' } };
const PLANS: PageView = { path: '/content', more: { view: 'actions' } };
const PROMPTS: PageView = { path: '/prompts' };
const COMPETITORS: PageView = { path: '/competitors' };
const OPERATIONS: PageView = { path: '/operations' };

/** Pages that show the changes of a kind. */
const CHANGE_PAGES: Readonly<Record<ChangeKind, PageView>> = {
  prompt_lost: COMPETITORS,
  prompt_won: PROMPTS,
  prompt_fell: PROMPTS,
  source_added: { path: '/sources' },
  alert: { path: '/alerts' },
  article_added: CONTENT,
  article_state: CONTENT,
  thread_added: FORUM,
  thread_state: FORUM,
  plan_generated: PLANS,
  action_done: PLANS,
  prompt_added: PROMPTS,
  prompt_edited: PROMPTS,
  prompt_paused: PROMPTS,
  prompt_resumed: PROMPTS,
  prompt_moved: PROMPTS,
  prompt_deleted: PROMPTS,
  competitor_added: COMPETITORS,
  competitor_renamed: COMPETITORS,
  competitor_removed: COMPETITORS,
  upstream_drift: OPERATIONS,
  verification_failed: OPERATIONS,
};

/** Pages that show the opportunities of a kind. */
const OPPORTUNITY_PAGES: Readonly<Record<OpportunityKind, PageView>> = {
  source_gap: { path: '/sources', more: { view: 'gaps' } },
  competitor_wins: COMPETITORS,
  forum_thread: FORUM,
  page_cited_once: { path: '/sources', more: { view: 'pages' } },
};

const { brand: _, ...range } = scopeArguments;

/** Explains the change of a metric. */
export const explainChange: DataTool = {
  name: 'explain_change',
  title: 'Explain change',
  about:
    'Why a metric of a brand changed: causes with ids of responses as evidence, effects of engines, topics and prompts that add up to the change, the changed prompt set, associated competitors and domains. States if the change is noise.',
  scope: 'metrics',
  arguments: {
    metric: { kind: 'text', isRequired: true, choices: Object.keys(explainedMetrics) },
    brand: { kind: 'text', isRequired: true },
    ...range,
    before_from: { kind: 'text', about: 'Default: the preceding days.' },
    before_to: { kind: 'text' },
  },
  members: ['summary', 'total', 'causes', 'prompt_set', 'effects', 'associations', 'url'],
  run: async (context, values) => {
    const { source } = context;
    const names = ['metric', 'brand', 'from', 'to', 'where', 'before_from', 'before_to'];
    const explained = await explainMetric(await source(), values.parameters(names));
    const { from, to, beforeFrom, beforeTo } = explained;
    const url = await pageLink(context, values.parameters(['brand', 'from', 'to', 'where']), {
      path: '/compare',
      more: { of: 'period', a: `${from}..${to}`, b: `${beforeFrom}..${beforeTo}`, measure: explained.metric },
    });
    const [content, ...shorter] = MEMBERS_SHOWN.map((members) => ({
      content: { ...(shown(explained, members) as Record<string, unknown>), ...url },
      omitted: `Only ${members} members of each dimension are listed: allow more with max_tokens.`,
    }));
    return {
      content: content?.content ?? {},
      shorter,
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
    kind: { kind: 'list', about: 'Such as prompt_lost; default all.' },
    limit: { kind: 'count', ...CHANGES },
  },
  members: ['since', 'counts', 'columns', 'changes', 'url'],
  run: async (context, values) => {
    const { source, workspace } = context;
    const from = await source();
    const { changes, counts, since } = await listChanges(from, values.parameters(['since', 'brand', 'kind']));
    const total = CHANGE_KINDS.flatMap((kind): [ChangeKind, number][] => {
      const count = counts[kind];
      return count === undefined ? [] : [[kind, count]];
    });
    const days = values.parameters(['brand']);
    days.set('from', since.slice(0, 10));
    days.set('to', dayOf(from.nowMs));
    const url = await pageLink(
      context,
      days,
      pageOfKinds(
        total.map(([kind]) => kind),
        CHANGE_PAGES,
      ),
    );
    return {
      content: {
        since,
        counts: Object.fromEntries(total),
        ...url,
        columns: ['at', 'kind', 'brand', 'sentence', 'ids'],
      },
      list: {
        name: 'changes',
        rows: changes
          .slice(0, values.count('limit'))
          .map(({ at, kind, brand, sentence, ids }) => [at, kind, brand, sentence, ids]),
      },
      total: total.reduce((sum, [, count]) => sum + count, 0),
      asOf: await syncedAtOf(workspace.service),
      ...(await beginningRemark(from, since)),
    };
  },
};

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
    kind: { kind: 'list', choices: OPPORTUNITY_KINDS },
    limit: { kind: 'count', ...OPPORTUNITIES },
  },
  members: ['from', 'to', 'url', 'columns', 'opportunities'],
  run: async (context, values) => {
    const { source } = context;
    const given = values.parameters(['brand', 'from', 'to']);
    given.set('limit', String(OPPORTUNITIES_MAX));
    const found = await listOpportunities(await source(), given);
    const kinds = values.list('kind');
    const asked = found.opportunities.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
    const view = pageOfKinds(
      asked.map(({ kind }) => kind),
      OPPORTUNITY_PAGES,
    );
    const days = new URLSearchParams({ brand: found.brandId, from: found.from, to: found.to });
    const url = await pageLink(context, days, view);
    return {
      content: { from: found.from, to: found.to, ...url, columns: ['rank', 'kind', 'id', 'n', 'sentence', 'evidence'] },
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
      // A kind with as many opportunities as are listed may have more.
      total: OPPORTUNITY_KINDS.some((kind) => asked.filter((one) => one.kind === kind).length >= LISTED_MAX)
        ? null
        : asked.length,
      asOf: found.asOf,
      isPartial: found.partial,
      completeTo: found.completeTo,
    };
  },
};

// Returns the overview if the kinds have different pages.
function pageOfKinds<K extends string>(kinds: readonly K[], pages: Readonly<Record<K, PageView>>): PageView {
  const found = new Set(kinds.map((kind) => pages[kind]));
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
