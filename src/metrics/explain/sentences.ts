import type { Association } from './associations.ts';
import type { Analysis, Cause } from './causes.ts';
import { type ExplainedMetric, textOf } from './explained-metrics.ts';
import { addSums, ratioOf, type Sides, type Sums, without } from './sums.ts';
import { ERROR_RATE } from './tests-of-change.ts';

/** Characters of a prompt that a sentence shows. */
const NAME_CHARACTERS_MAX = 80;

/** Describes the change of the total, and what explains it. `first` is the sentence of the first cause. */
export function summaryOf(
  metric: ExplainedMetric,
  { total, promptSet, causes }: Analysis,
  first: string | null,
): string {
  const { label, shownChange } = textOf(metric);
  const { before, after, test } = total;
  const n = `${counted(before.n)} and ${counted(after.n)} responses`;
  const p = test.p === null ? 'not tested' : `p ${shownP(test.p)}`;
  const isSignificant = test.p !== null && test.p <= ERROR_RATE;
  const values = valuesOf(metric, total);
  if (!isSignificant) {
    const head = `No significant change: ${label} was ${values[0]} and is ${values[1]} (${n}, ${p}).`;
    if (first === null) return `${head} The differences of engines, topics and prompts are within chance.`;
    return `${head} But parts of it changed. ${first}`;
  }
  const change = test.change ?? 0;
  const head = `${capital(label)} ${verb(change)} from ${values[0]} to ${values[1]}, by ${shownChange(change)}${worse(metric, change)} (${n}, ${p}).`;
  const moved = promptSet === null ? 0 : promptSet.added.effect + promptSet.removed.effect;
  const set =
    promptSet !== null && causes.some(({ kind }) => kind === 'added' || kind === 'removed')
      ? ` The changed set of prompts ${effectVerb(moved)} it by ${shownChange(moved)}; on the ${counted(promptSet.panel.prompts)} prompts of both periods it ${verb(promptSet.panel.change)} by ${shownChange(promptSet.panel.change)}.`
      : '';
  return `${head}${set} ${first ?? 'No engine, topic or prompt changed significantly on its own.'}`;
}

/** The sentence for a period without data. */
export function noDataSentence(metric: ExplainedMetric, { before, after }: Sides): string {
  const missing =
    before.x === 0 && after.x === 0 ? 'both periods' : before.x === 0 ? 'the earlier period' : 'the later period';
  return `No comparison: ${missing} had no responses with data on ${textOf(metric).label}.`;
}

/** Describes a cause. `name` is that of the member. */
export function causeSentence(metric: ExplainedMetric, cause: Cause, name: string, analysis: Analysis): string {
  const { label, shown, shownChange, denominator } = textOf(metric);
  const { total, promptSet } = analysis;
  const consequence = `which ${effectVerb(cause.effect)} the total by ${shownChange(cause.effect)}`;
  const value = (sums: Sums): string => shown(ratioOf(sums) ?? 0);
  switch (cause.kind) {
    case 'behaviour': {
      const [was, is] = valuesOf(metric, cause);
      const change = (ratioOf(cause.after) ?? 0) - (ratioOf(cause.before) ?? 0);
      return `${name}: ${label} ${verb(change)} from ${was} to ${is} (${counted(cause.before.n)} and ${counted(cause.after.n)} responses), ${consequence}.`;
    }
    case 'broad': {
      const [was, is] = valuesOf(metric, cause);
      return `The change is broad: on the same prompts and engines, ${label} ${verb(cause.effect)} from ${was} to ${is} (${counted(cause.before.n)} and ${counted(cause.after.n)} responses), and no engine, topic or prompt explains it alone.`;
    }
    case 'mix': {
      const weight = (own: Sums, all: Sums): string => `${((100 * own.x) / all.x).toFixed(1)} %`;
      const others = addSums([without(total.before, cause.before), without(total.after, cause.after)]);
      return `${name} has ${weight(cause.after, total.after)} of the ${denominator} instead of ${weight(cause.before, total.before)}; its ${label} is ${value(addSums([cause.before, cause.after]))} in both periods together, against ${value(others)} elsewhere, ${consequence}.`;
    }
    case 'added':
    case 'removed': {
      const side = cause.kind === 'added' ? 'after' : 'before';
      const prompts = promptSet?.[cause.kind].prompts ?? 0;
      const panel = promptSet?.panel[side];
      const period = cause.kind === 'added' ? 'later' : 'earlier';
      return `${counted(prompts)} ${prompts === 1 ? 'prompt has' : 'prompts have'} responses only in the ${period} period (${counted(cause[side].n)} responses); ${label} there is ${value(cause[side])}, against ${panel === undefined ? '-' : value(panel)} on the prompts of both periods, ${consequence}.`;
    }
  }
}

/** Describes an association. */
export function associationSentence(metric: ExplainedMetric, association: Association, name: string): string {
  const { label, shown } = textOf(metric);
  const { kind, occurrence } = association;
  const [was, is] = [occurrence.before, occurrence.after].map(
    (sums) => `${((100 * sums.y) / Math.max(1, sums.x)).toFixed(1)} %`,
  );
  const verbOf = kind === 'competitor' ? 'is mentioned in' : 'is cited in';
  const [own, rest] = [ratioOf(association.with.after), ratioOf(association.without.after)];
  const compared =
    own === null || rest === null
      ? ''
      : ` In the later period, ${label} is ${shown(own)} in responses with it and ${shown(rest)} in the others.`;
  return `Association, not a cause: ${name} ${verbOf} ${is} of responses instead of ${was}.${compared}`;
}

/** Returns the end of a sentence about a prompt, which names it. */
export function promptEnd(name: string): string {
  return `: prompt ${quotedName(name)}.`;
}

/** Returns a name in quotation marks, on one line and shortened. */
export function quotedName(name: string): string {
  const line = name.replaceAll(/\s+/g, ' ').trim();
  const characters = [...line];
  const text =
    characters.length <= NAME_CHARACTERS_MAX
      ? line
      : `${characters
          .slice(0, NAME_CHARACTERS_MAX - 1)
          .join('')
          .trimEnd()}…`;
  return `"${text}"`;
}

function valuesOf(metric: ExplainedMetric, { before, after }: Sides): [string, string] {
  const { shown } = textOf(metric);
  return [shown(ratioOf(before) ?? 0), shown(ratioOf(after) ?? 0)];
}

/** Returns whether a change is a rise or a fall. */
export function verb(change: number): string {
  return change < 0 ? 'fell' : 'rose';
}

function effectVerb(effect: number): string {
  return effect < 0 ? 'lowered' : 'raised';
}

/** Returns the direction of a change of a metric in which a lower value is better, such as position; empty for other metrics. */
export function worse(metric: ExplainedMetric, change: number): string {
  if (textOf(metric).isHigherBetter) return '';
  return change < 0 ? ', which is better' : ', which is worse';
}

/** Returns a number of things with separators of thousands. */
export function counted(value: number): string {
  return value.toLocaleString('en-US');
}

function shownP(p: number): string {
  return p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`;
}

/** Returns a text with a capital letter at its start. */
export function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
