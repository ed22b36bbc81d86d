import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { type Brief, BRIEFED_OPPORTUNITIES, type Finding } from './brief-result.ts';
import type { ExplainedChange } from './explained-change.ts';
import { type ExplainedMetric, textOf } from './explained-metrics.ts';
import type { opportunity } from './opportunities.ts';
import { ERROR_RATE, type TestedChange } from './tests-of-change.ts';
import type { History } from './what-changed.ts';

/** A change of visibility is "unchanged" if its interval lies within these bounds: 3 points. */
export const UNCHANGED_WITHIN = 0.03;
/** Most findings. At least one is something to do, if there is anything. */
export const FINDINGS_MAX = 4;

/** The metrics besides visibility whose changes are findings. */
export const BRIEFED_METRICS = ['share_of_voice', 'position', 'sentiment', 'owned_citations'] as const;
/** The tones of the kinds of changes that are findings. An alert may be good or bad. */
export const BRIEFED_CHANGES = { prompt_lost: 'bad', prompt_won: 'good', alert: 'to do' } as const;
type BriefedChange = keyof typeof BRIEFED_CHANGES;

/** A finding without the page that shows it. */
export type UnlinkedFinding = Omit<Finding, 'page'>;

/** The tested change of a metric of the brand. */
export interface MetricChange {
  readonly metric: ExplainedMetric;
  readonly before: number | null;
  readonly after: number | null;
  readonly nBefore: number;
  readonly nAfter: number;
  readonly test: TestedChange;
}

/** What a brief is made from. */
export interface BriefFacts {
  readonly visibility: ExplainedChange;
  /** Changes of `BRIEFED_METRICS`; empty if the periods cannot be compared. */
  readonly metrics: readonly MetricChange[];
  /** Changes of the period of the kinds in `BRIEFED_CHANGES`, the newest first. */
  readonly changes: History['changes'];
  readonly opportunities: readonly ValueOf<typeof opportunity>[];
}

/** A headline and findings. */
export interface ComposedBrief extends Pick<Brief, 'headline' | 'verdict' | 'responses'> {
  readonly findings: readonly UnlinkedFinding[];
}

/** Composes the headline and the findings. "Rose" and "fell" are said of changes beyond chance only. */
export function composeBrief({ visibility, metrics, changes, opportunities }: BriefFacts): ComposedBrief {
  const { total } = visibility;
  const news = [...engineFindings(visibility), ...metricFindings(metrics), ...changeFindings(changes)];
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
      return `Visibility ${(total.change ?? 0) < 0 ? 'fell' : 'rose'} from ${was} to ${is}. ${cause}`;
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
    .filter(({ test: { p } }) => p !== null && p <= ERROR_RATE)
    .map((one) => {
      const { label } = textOf(one.metric);
      const name = `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
      const moved = { ...one, change: one.test.change };
      return { ...metricFinding(one.metric, moved, name), kind: 'metric' as const, engine: null };
    });
}

interface Moved {
  readonly before: number | null;
  readonly after: number | null;
  readonly nBefore: number;
  readonly nAfter: number;
  readonly change: number | null;
}

function metricFinding(
  metric: ExplainedMetric,
  { before, after, nBefore, nAfter, change }: Moved,
  name: string,
): Omit<UnlinkedFinding, 'kind' | 'engine'> {
  const { shown, shownChange, isHigherBetter } = textOf(metric);
  const moved = change ?? 0;
  const worse = isHigherBetter ? '' : moved < 0 ? ', which is better' : ', which is worse';
  return {
    tone: moved > 0 === isHigherBetter ? 'good' : 'bad',
    size: `${moved < 0 ? '−' : '+'}${shownChange(moved)}`,
    sentence: `${name} ${moved < 0 ? 'fell' : 'rose'} from ${shown(before ?? 0)} to ${shown(after ?? 0)}${worse}.`,
    detail: `${counted(nBefore)} and ${counted(nAfter)} responses`,
    metric,
  };
}

const CHANGE_SENTENCES: Readonly<Record<BriefedChange, (count: number) => string>> = {
  prompt_lost: (count) => `${prompts(count)} lost the brand.`,
  prompt_won: (count) => `${prompts(count)} won.`,
  alert: (count) => (count === 1 ? '1 alert was raised.' : `${counted(count)} alerts were raised.`),
};

function changeFindings(changes: BriefFacts['changes']): UnlinkedFinding[] {
  return (Object.keys(BRIEFED_CHANGES) as BriefedChange[]).flatMap((kind) => {
    const own = changes.filter((change) => change.kind === kind);
    const [newest] = own;
    if (newest === undefined) return [];
    const tone = BRIEFED_CHANGES[kind];
    const sentence = CHANGE_SENTENCES[kind](own.length);
    return { kind, tone, size: counted(own.length), sentence, detail: newest.sentence, metric: null, engine: null };
  });
}

const TASK_SENTENCES: Readonly<Record<(typeof BRIEFED_OPPORTUNITIES)[number], (count: number) => string>> = {
  competitor_wins: (count) => `Competitors win ${prompts(count)}.`,
  source_gap: (count) =>
    count === 1
      ? '1 domain is cited for competitors and never with the brand.'
      : `${counted(count)} domains are cited for competitors and never with the brand.`,
  forum_thread: (count) =>
    count === 1 ? '1 open forum thread is cited.' : `${counted(count)} open forum threads are cited.`,
};

function opportunityFindings(opportunities: BriefFacts['opportunities']): UnlinkedFinding[] {
  return BRIEFED_OPPORTUNITIES.flatMap((kind) => {
    const own = opportunities.filter((one) => one.kind === kind);
    const [first] = own;
    if (first === undefined) return [];
    const sentence = TASK_SENTENCES[kind](own.length);
    const size = counted(own.length);
    return { kind, tone: 'to do' as const, size, sentence, detail: first.sentence, metric: null, engine: null };
  });
}

function prompts(count: number): string {
  return count === 1 ? '1 prompt' : `${counted(count)} prompts`;
}

function counted(value: number): string {
  return value.toLocaleString('en-GB');
}
