import type { Query } from '../../warehouse/database.ts';
import { associationsOf } from './associations.ts';
import { type EvidenceWanted, readEvidence } from './cause-evidence.ts';
import { type Analysis, analyseChange, type Cause, DIMENSIONS, type Dimension, type MemberOf } from './causes.ts';
import type { ChangeUnits } from './change-units.ts';
import { type ExplainedMetric, textOf } from './explained-metrics.ts';
import { type Names, readNames } from './names-of-members.ts';
import { type Companion, type Counts, readCounts } from './read-counts.ts';
import { associationSentence, causeSentence, noDataSentence, quotedName, summaryOf } from './sentences.ts';
import { ratioOf, type Sides } from './sums.ts';
import { ERROR_RATE, type JudgedChange } from './tests-of-change.ts';

/** Maximum number of significant associations with competitors, and of those with domains. */
const ASSOCIATIONS_MAX = 20;
/** Maximum number of associations of each kind that have evidence. */
const PROVEN_MAX = 5;

/** Values of both periods, with the responses that they are computed from. */
export interface ComparedValues {
  /** Null without data. */
  readonly before: number | null;
  readonly after: number | null;
  readonly nBefore: number;
  readonly nAfter: number;
}

/** A change with its test. */
export interface ShownTest {
  readonly change: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** Confidence level of `lower` and `upper`. */
  readonly level: number;
  readonly p: number | null;
  readonly adjustedP: number | null;
  readonly verdict: 'significant' | 'noise' | 'not tested';
}

/** A named cause with its evidence. */
export interface NamedCause extends ComparedValues {
  readonly rank: number;
  readonly kind: Cause['kind'];
  readonly dimension: Cause['dimension'];
  readonly id: string | null;
  readonly name: string;
  readonly effect: number;
  /** `effect` divided by the change of the total. */
  readonly part: number | null;
  readonly p: number;
  readonly sentence: string;
  /** Ids of at most 5 responses. */
  readonly evidence: readonly string[];
}

/** A member of a dimension with its part in the change. */
export interface ExplainedMember extends ComparedValues, ShownTest {
  readonly id: string | null;
  readonly name: string;
  readonly presence: 'both' | 'new' | 'gone';
  readonly weightBefore: number;
  readonly weightAfter: number;
  readonly mix: number;
  readonly rate: number;
  readonly effect: number;
}

/** A dimension: the effects of its members add up to the change. */
export interface ExplainedDimension {
  readonly dimension: Dimension;
  readonly mix: number;
  readonly rate: number;
  readonly members: readonly ExplainedMember[];
}

/** A part of the prompts. */
export interface ExplainedPrompts extends ComparedValues {
  readonly prompts: number;
  readonly effect: number;
}

/** An association of the metric with a competitor or a domain. */
export interface NamedAssociation {
  readonly kind: Companion;
  readonly id: string;
  readonly name: string;
  /** Its share of the responses. */
  readonly occurrence: ComparedValues & ShownTest;
  readonly with: ComparedValues;
  readonly without: ComparedValues;
  readonly occurrenceEffect: number;
  readonly withEffect: number;
  readonly withoutEffect: number;
  readonly sentence: string;
  readonly evidence: readonly string[];
}

/** The explanation of a change. */
export interface ExplainedChange {
  readonly brandId: string;
  readonly metric: ExplainedMetric;
  readonly isHigherBetter: boolean;
  readonly from: string;
  readonly to: string;
  readonly beforeFrom: string;
  readonly beforeTo: string;
  readonly summary: string;
  readonly total: ComparedValues & ShownTest;
  readonly causes: readonly NamedCause[];
  /** Null if no prompt has data in both periods. */
  readonly promptSet: {
    readonly panel: ExplainedPrompts & ShownTest;
    readonly added: ExplainedPrompts;
    readonly removed: ExplainedPrompts;
  } | null;
  /** Empty if a period has no data. */
  readonly dimensions: readonly ExplainedDimension[];
  /** Competitors and domains whose share of the responses changed significantly. */
  readonly associations: readonly NamedAssociation[];
  /** Number of competitors and domains whose share of the responses changed within chance. */
  readonly associationsWithinChance: number;
}

/**
 * Explains the change of a metric between two periods: the effects that add up to it, their tests, and the causes that the responses
 * support. The effects of the members of each dimension add up to the change.
 *
 * @example
 * const { summary, causes } = await explainChange(query, { metric: 'visibility', scope, labels, mayRepeat });
 */
export async function explainChange(query: Query, units: ChangeUnits): Promise<ExplainedChange> {
  const { metric, scope } = units;
  const { before, brandId } = scope;
  const counts = await readCounts(query, units);
  const { cells, total } = counts;
  const names = await readNames(query, brandId, cells);
  const memberOf: MemberOf = ({ promptId, engine }, dimension) => {
    if (dimension === 'engine') return engine;
    return dimension === 'prompt' ? promptId : (names.topicOf.get(promptId ?? '') ?? null);
  };
  const analysis = analyseChange(metric, cells, memberOf);
  const head = {
    brandId,
    metric,
    isHigherBetter: textOf(metric).isHigherBetter,
    from: scope.from,
    to: scope.to,
    beforeFrom: before.from,
    beforeTo: before.to,
  };
  if (analysis === null) {
    const untested = { change: null, lower: null, upper: null, level: 1 - ERROR_RATE, p: null, adjustedP: null };
    const summary = noDataSentence(metric, total);
    const shown = { ...valuesOf(total), ...untested, verdict: 'not tested' as const };
    const parts = { causes: [], promptSet: null, dimensions: [], associations: [], associationsWithinChance: 0 };
    return { ...head, summary, total: shown, ...parts };
  }
  const causes = await nameCauses(query, units, analysis, names);
  const rivals = await nameAssociations(query, units, counts, 'competitor', names);
  const domains = await nameAssociations(query, units, counts, 'domain', names);
  return {
    ...head,
    summary: summaryOf(metric, analysis, causes[0]?.sentence ?? null),
    total: { ...valuesOf(analysis.total), ...ownTest(analysis.total.test) },
    causes,
    promptSet: promptSetOf(analysis),
    dimensions: DIMENSIONS.map((dimension) => dimensionOf(analysis, dimension, names)),
    associations: [...rivals.named, ...domains.named],
    associationsWithinChance: rivals.withinChance + domains.withinChance,
  };
}

async function nameCauses(query: Query, units: ChangeUnits, analysis: Analysis, names: Names): Promise<NamedCause[]> {
  const evidence = await readEvidence(
    query,
    units,
    analysis.causes.map((cause) => evidenceOf(cause, analysis, names)),
  );
  const change = analysis.total.test.change;
  return analysis.causes.map((cause, index) => {
    const name = nameOfCause(cause, names);
    return {
      rank: index + 1,
      kind: cause.kind,
      dimension: cause.dimension,
      id: cause.id,
      name,
      ...valuesOf(cause),
      effect: cause.effect,
      part: change === null || change === 0 ? null : cause.effect / change,
      p: cause.p,
      sentence: causeSentence(units.metric, cause, name, analysis),
      evidence: evidence[index] ?? [],
    };
  });
}

// Behaviour is shown by the member's later responses on the other side of its earlier value. A member that grew or shrank is shown by
// its responses, later or earlier, that move the total.
function evidenceOf(cause: Cause, { total }: Analysis, names: Names): EvidenceWanted {
  const isBehaviour = cause.kind === 'behaviour' || cause.kind === 'broad';
  const shrank = cause.after.x / total.after.x < cause.before.x / total.before.x;
  const isAfter = isBehaviour || !shrank;
  const reference = ratioOf(isBehaviour ? cause.before : isAfter ? total.after : total.before) ?? 0;
  const own = isBehaviour ? (ratioOf(cause.after) ?? 0) - reference : isAfter ? cause.effect : -cause.effect;
  const wanted = { isAfter, sign: Math.sign(own), reference };
  if (cause.dimension === 'engine') return { ...wanted, engine: cause.id };
  if (cause.dimension === 'topic') return { ...wanted, prompts: names.promptsOf(cause.id) };
  if (cause.kind === 'added' || cause.kind === 'removed') return { ...wanted, prompts: names.onlyIn(isAfter) };
  return cause.dimension === 'prompt' && cause.id !== null ? { ...wanted, prompts: [cause.id] } : wanted;
}

function nameOfCause({ kind, dimension, id }: Cause, names: Names): string {
  if (kind === 'added') return 'Added prompts';
  if (kind === 'removed') return 'Removed prompts';
  if (dimension === 'all') return 'All engines, topics and prompts';
  const name = names.nameOf(dimension, id);
  if (id === null) return name;
  return dimension === 'engine'
    ? `Engine ${name}`
    : `${dimension === 'topic' ? 'Topic' : 'Prompt'} ${quotedName(name)}`;
}

async function nameAssociations(
  query: Query,
  units: ChangeUnits,
  counts: Counts,
  kind: Companion,
  names: Names,
): Promise<{ readonly named: NamedAssociation[]; readonly withinChance: number }> {
  const { before, after } = counts.total;
  const all = associationsOf(counts, kind);
  const significant = all.filter(({ test }) => test.isSignificant);
  const found = significant.slice(0, ASSOCIATIONS_MAX);
  const proven = found.slice(0, PROVEN_MAX);
  const reference = ratioOf(before) ?? 0;
  const sign = Math.sign((ratioOf(after) ?? 0) - reference) || -1;
  const evidence = await readEvidence(
    query,
    units,
    proven.map(({ id }) => ({
      isAfter: true,
      sign,
      reference,
      ...(kind === 'competitor' ? { competitorId: id } : { domain: id }),
    })),
  );
  const named = found.map((association) => {
    const { id, occurrence, test, occurrenceEffect, withEffect, withoutEffect } = association;
    const name = kind === 'domain' ? id : (names.competitors.get(id) ?? id);
    return {
      kind,
      id,
      name,
      occurrence: { ...valuesOf(occurrence), ...testOf(test) },
      with: valuesOf(association.with),
      without: valuesOf(association.without),
      occurrenceEffect,
      withEffect,
      withoutEffect,
      sentence: associationSentence(units.metric, association, name),
      evidence: evidence[proven.indexOf(association)] ?? [],
    };
  });
  return { named, withinChance: all.length - significant.length };
}

function promptSetOf({ promptSet }: Analysis): ExplainedChange['promptSet'] {
  if (promptSet === null) return null;
  const { panel, added, removed, test } = promptSet;
  return {
    panel: { prompts: panel.prompts, effect: panel.change, ...valuesOf(panel), ...ownTest(test) },
    added: { prompts: added.prompts, effect: added.effect, ...valuesOf(added) },
    removed: { prompts: removed.prompts, effect: removed.effect, ...valuesOf(removed) },
  };
}

function dimensionOf({ dimensions }: Analysis, dimension: Dimension, names: Names): ExplainedDimension {
  const { mix, rate, members } = dimensions[dimension];
  return {
    dimension,
    mix,
    rate,
    members: members.map((member) => ({
      id: member.id,
      name: names.nameOf(dimension, member.id),
      presence: member.presence,
      ...valuesOf(member),
      weightBefore: member.weightBefore,
      weightAfter: member.weightAfter,
      mix: member.mix,
      rate: member.rate,
      effect: member.effect,
      ...testOf(member.test),
    })),
  };
}

function valuesOf({ before, after }: Sides): ComparedValues {
  return { before: ratioOf(before), after: ratioOf(after), nBefore: before.n, nAfter: after.n };
}

function testOf({ change, lower, upper, level, p, adjustedP, isSignificant }: JudgedChange): ShownTest {
  const verdict = p === null ? 'not tested' : isSignificant ? 'significant' : 'noise';
  return { change, lower, upper, level, p, adjustedP, verdict };
}

// The total and the panel are single tests, so they are not corrected.
function ownTest(test: JudgedChange): ShownTest {
  const verdict = test.p === null ? 'not tested' : test.p <= ERROR_RATE ? 'significant' : 'noise';
  return { ...testOf(test), verdict };
}
