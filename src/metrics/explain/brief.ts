import { addDays } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { DEFAULT_FAMILY } from '../model/measures.ts';
import { type Brief, BRIEFED_CHANGES, BRIEFED_OPPORTUNITIES, type Finding } from './brief-result.ts';
import type { ChangeUnits } from './change-units.ts';
import { explainChange } from './explain-change.ts';
import type { ExplainedChange } from './explained-change.ts';
import { type ExplainedMetric, textOf } from './explained-metrics.ts';
import { findOpportunities, LISTED_MAX } from './opportunities.ts';
import type { Opportunity } from './opportunity.ts';
import { readTotal } from './read-counts.ts';
import { capital, counted, verb, worse } from './sentences.ts';
import { type ComparedValues, valuesOf } from './sums.ts';
import { ERROR_RATE, testChange, type TestedChange } from './tests-of-change.ts';
import { type History, whatChanged } from './what-changed.ts';

/** A change of visibility is "unchanged" if its interval lies within these bounds: 3 points. */
export const UNCHANGED_WITHIN = 0.03;
/** Most findings. At least one is something to do, if there is anything. */
export const FINDINGS_MAX = 4;

/** The metrics besides visibility whose changes are findings. */
const BRIEFED_METRICS = ['share_of_voice', 'position', 'sentiment', 'owned_citations'] as const;
type BriefedChange = (typeof BRIEFED_CHANGES)[number];

/** A finding without the page that shows it. */
export type UnlinkedFinding = Omit<Finding, 'page'>;

/** The tested change of a metric of the brand. */
interface MetricChange extends ComparedValues, TestedChange {
  readonly metric: ExplainedMetric;
}

/** What a brief is made from. */
export interface BriefFacts {
  readonly visibility: ExplainedChange;
  /** Changes of `BRIEFED_METRICS`; empty if the periods cannot be compared. */
  readonly metrics: readonly MetricChange[];
  /** Changes of the period of the kinds in `BRIEFED_CHANGES`. */
  readonly history: Pick<History, 'changes' | 'counts'>;
  readonly opportunities: readonly Opportunity[];
}

/** A headline and findings. */
interface ComposedBrief extends Pick<Brief, 'headline' | 'verdict' | 'responses'> {
  readonly findings: readonly UnlinkedFinding[];
}

/** Reads what happened to a brand in a period, and composes the headline and the findings. */
export async function readBrief(query: Query, units: Omit<ChangeUnits, 'metric'>): Promise<ComposedBrief> {
  const { brandId, from, to, gaps } = units.scope;
  const visibility = await explainChange(query, { ...units, metric: 'visibility' });
  const metrics: MetricChange[] = [];
  if (!gaps.some(({ family }) => family === DEFAULT_FAMILY)) {
    for (const metric of BRIEFED_METRICS) metrics.push(await changeOf(query, { ...units, metric }));
  }
  const filter = { kinds: BRIEFED_CHANGES, ofBrandsOnly: true, untilMs: Date.parse(addDays(to, 1)) };
  const history = await whatChanged(query, [brandId], Date.parse(from), filter);
  const found = await findOpportunities(query, brandId, { from, to }, BRIEFED_OPPORTUNITIES);
  const opportunities = found.filter(({ mark }) => mark === null);
  return composeBrief({ visibility, metrics, history, opportunities });
}

async function changeOf(query: Query, units: ChangeUnits): Promise<MetricChange> {
  const total = await readTotal(query, units);
  return { metric: units.metric, ...valuesOf(total), ...testChange(units.metric, total) };
}

/** Composes the headline and the findings. "Rose" and "fell" are said of changes beyond chance only. */
export function composeBrief({ visibility, metrics, history, opportunities }: BriefFacts): ComposedBrief {
  const { total } = visibility;
  const news = [...engineFindings(visibility), ...metricFindings(metrics), ...changeFindings(history)];
  const withTone = (wanted: Finding['tone']): UnlinkedFinding[] => news.filter(({ tone }) => tone === wanted);
  const happened = [...withTone('bad'), ...withTone('good')];
  const tasks = [...opportunityFindings(opportunities), ...withTone('to do')];
  const places = FINDINGS_MAX - Math.min(1, tasks.length);
  const listed = happened.slice(0, places);
  const verdict = verdictOf(total);
  const headline = headlineOf(visibility, verdict);
  return {
    headline:
      happened.length > 0 || verdict !== 'within chance' ? headline : `${headline} Nothing else changed beyond chance.`,
    verdict,
    responses: total.nAfter,
    findings: [...listed, ...tasks.slice(0, FINDINGS_MAX - listed.length)],
  };
}

function verdictOf({ verdict, lower, upper }: ExplainedChange['total']): Brief['verdict'] {
  if (verdict === 'not tested') return 'not compared';
  if (verdict === 'significant') return 'changed';
  if (lower !== null && upper !== null && lower >= -UNCHANGED_WITHIN && upper <= UNCHANGED_WITHIN) return 'unchanged';
  return 'within chance';
}

function headlineOf({ total, summary, causes }: ExplainedChange, verdict: Brief['verdict']): string {
  const { shown } = textOf('visibility');
  if (total.after === null) return summary;
  const [was, is] = [shown(total.before ?? 0), shown(total.after)];
  switch (verdict) {
    case 'not compared':
      return `Visibility is ${is}. ${summary}`;
    case 'unchanged':
      return `Visibility is ${is}, unchanged from ${was} in the period before.`;
    case 'within chance':
      return `Visibility is ${is}; it was ${was} in the period before, which is no change beyond chance.`;
    case 'changed': {
      const cause = causes[0]?.sentence ?? 'No engine, topic or prompt changed beyond chance on its own.';
      return `Visibility ${verb(total.change ?? 0)} from ${was} to ${is}. ${cause}`;
    }
  }
}

// The engines of a change that is corrected for their number, the greatest change first. With one engine it is that of the total.
function engineFindings({ dimensions }: ExplainedChange): UnlinkedFinding[] {
  const { members = [] } = dimensions.find(({ dimension }) => dimension === 'engine') ?? {};
  if (members.length < 2) return [];
  return members
    .filter(({ verdict }) => verdict === 'significant')
    .toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0))
    .map((member) => ({
      ...metricFinding('visibility', member, `${member.name}: visibility`),
      kind: 'engine' as const,
      engine: member.id,
    }));
}

// Each metric is a single test, as on its tile and in its explanation.
function metricFindings(metrics: readonly MetricChange[]): UnlinkedFinding[] {
  return metrics
    .filter(({ p }) => p !== null && p <= ERROR_RATE)
    .map((one) => ({
      ...metricFinding(one.metric, one, capital(textOf(one.metric).label)),
      kind: 'metric' as const,
      engine: null,
    }));
}

function metricFinding(
  metric: ExplainedMetric,
  { before, after, nBefore, nAfter, change }: ComparedValues & Pick<TestedChange, 'change'>,
  name: string,
): Omit<UnlinkedFinding, 'kind' | 'engine'> {
  const { shown, shownChange, isHigherBetter } = textOf(metric);
  const moved = change ?? 0;
  return {
    tone: moved > 0 === isHigherBetter ? 'good' : 'bad',
    size: `${moved < 0 ? '−' : '+'}${shownChange(moved)}`,
    sentence: `${name} ${verb(moved)} from ${shown(before ?? 0)} to ${shown(after ?? 0)}${worse(metric, moved)}.`,
    detail: `${counted(nBefore)} and ${counted(nAfter)} responses`,
    metric,
  };
}

/** An alert may be good or bad. */
const CHANGE_TONES: Readonly<Record<BriefedChange, Finding['tone']>> = {
  prompt_lost: 'bad',
  prompt_won: 'good',
  alert: 'to do',
};

const CHANGE_SENTENCES: Readonly<Record<BriefedChange, (count: number) => string>> = {
  prompt_lost: (count) => `${prompts(count)} lost the brand.`,
  prompt_won: (count) => `${prompts(count)} won.`,
  alert: (count) => (count === 1 ? '1 alert was raised.' : `${counted(count)} alerts were raised.`),
};

function changeFindings({ changes, counts }: BriefFacts['history']): UnlinkedFinding[] {
  return BRIEFED_CHANGES.flatMap((kind) => {
    const newest = changes.find((change) => change.kind === kind);
    const count = counts[kind] ?? 0;
    if (newest === undefined) return [];
    const { [kind]: tone } = CHANGE_TONES;
    const told = { sentence: CHANGE_SENTENCES[kind](count), detail: newest.sentence };
    return { kind, tone, size: counted(count), ...told, metric: null, engine: null };
  });
}

// More than `LISTED_MAX` opportunities of a kind are not counted.
const TASK_SENTENCES: Readonly<Record<(typeof BRIEFED_OPPORTUNITIES)[number], (count: number) => string>> = {
  competitor_wins: (count) => `Competitors win ${atLeast(count)}${prompts(count)}.`,
  source_gap: (count) =>
    count === 1
      ? '1 domain is cited for competitors and never with the brand.'
      : `${atLeast(count)}${count} domains are cited for competitors and never with the brand.`,
  forum_thread: (count) =>
    count === 1 ? '1 open forum thread is cited.' : `${atLeast(count)}${count} open forum threads are cited.`,
};

function opportunityFindings(opportunities: BriefFacts['opportunities']): UnlinkedFinding[] {
  return BRIEFED_OPPORTUNITIES.flatMap((kind) => {
    const own = opportunities.filter((one) => one.kind === kind);
    const [first] = own;
    if (first === undefined) return [];
    const sentence = capital(TASK_SENTENCES[kind](own.length));
    const size = `${own.length}${own.length < LISTED_MAX ? '' : '+'}`;
    return { kind, tone: 'to do' as const, size, sentence, detail: first.sentence, metric: null, engine: null };
  });
}

function atLeast(count: number): string {
  return count < LISTED_MAX ? '' : 'at least ';
}

function prompts(count: number): string {
  return count === 1 ? '1 prompt' : `${counted(count)} prompts`;
}
