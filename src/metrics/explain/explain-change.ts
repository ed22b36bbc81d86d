import type { Query } from '../../warehouse/database.ts';
import { DEFAULT_FAMILY } from '../model/measures.ts';
import { associationsOf } from './associations.ts';
import { type EvidenceWanted, readEvidence } from './cause-evidence.ts';
import { type Analysis, analyseChange, type Cause, DIMENSIONS, type Dimension, type MemberOf } from './causes.ts';
import type { ChangeUnits } from './change-units.ts';
import type { ExplainedChange } from './explained-change.ts';
import { textOf } from './explained-metrics.ts';
import { type Names, readNames } from './names-of-members.ts';
import { type Companion, type Counts, readCounts } from './read-counts.ts';
import { associationSentence, causeSentence, noDataSentence, quotedName, summaryOf } from './sentences.ts';
import { type ComparedValues, noSums, ratioOf, valuesOf } from './sums.ts';
import { ERROR_RATE, type JudgedChange } from './tests-of-change.ts';

/** Maximum number of significant associations with competitors, and of those with domains. */
const ASSOCIATIONS_MAX = 20;
/** Maximum number of associations of each kind that have evidence. */
const PROVEN_MAX = 5;

type NamedCause = ExplainedChange['causes'][number];
type NamedAssociation = ExplainedChange['associations'][number];
type ShownTest = Omit<NamedAssociation['occurrence'], keyof ComparedValues>;

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
  const [gap = null] = scope.gaps.filter(({ family }) => family === DEFAULT_FAMILY);
  if (analysis === null || gap !== null) {
    const untested = { change: null, lower: null, upper: null, level: 1 - ERROR_RATE, p: null, adjustedP: null };
    const summary = gap?.reason ?? noDataSentence(metric, total);
    const sides = gap === null ? total : { ...total, before: noSums };
    const shown = { ...valuesOf(sides), ...untested, verdict: 'not tested' as const };
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

function dimensionOf(
  { dimensions }: Analysis,
  dimension: Dimension,
  names: Names,
): ExplainedChange['dimensions'][number] {
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

function testOf({ change, lower, upper, level, p, adjustedP, isSignificant }: JudgedChange): ShownTest {
  const verdict = p === null ? 'not tested' : isSignificant ? 'significant' : 'noise';
  return { change, lower, upper, level, p, adjustedP, verdict };
}

// The total and the panel are single tests, so they are not corrected.
function ownTest(test: JudgedChange): ShownTest {
  const verdict = test.p === null ? 'not tested' : test.p <= ERROR_RATE ? 'significant' : 'noise';
  return { ...testOf(test), verdict };
}
