import {
  cellsBy,
  type Decomposition,
  decompose,
  groupCells,
  type Member,
  type PromptSetChange,
  splitByPromptSet,
} from './decompose.ts';
import type { ExplainedMetric } from './explained-metrics.ts';
import { twoSidedP } from './normal.ts';
import { addSides, addSums, type Cell, type Sides, type Sums, without } from './sums.ts';
import { adjustPs, ERROR_RATE, type JudgedChange, judgeChanges, stratifiedZ, testChange } from './tests-of-change.ts';

/** Maximum number of causes of an explanation. */
export const CAUSES_MAX = 5;
/** Minimum effect of a cause of kind mix, as a part of the total change. */
const MIX_PART_LEAST = 0.2;

/** Dimensions in which each response belongs to exactly one member. */
export const DIMENSIONS = ['engine', 'topic', 'prompt'] as const;

/** A dimension in which each response belongs to exactly one member. */
export type Dimension = (typeof DIMENSIONS)[number];

/** A cause without its name. */
export interface Cause extends Sides {
  /**
   * behaviour: the value of one member changed. broad: the value of most members changed. mix: the member has another share of the
   * responses. added, removed: prompts without responses in the earlier or the later period.
   */
  readonly kind: 'behaviour' | 'broad' | 'mix' | 'added' | 'removed';
  readonly dimension: Dimension | 'all';
  /** Id of the member; null if the cause has none, and for responses without an id. */
  readonly id: string | null;
  /** Effect on the metric. The effects of causes of different dimensions overlap. */
  readonly effect: number;
  /** Two-sided p-value, not corrected for the number of tests. */
  readonly p: number;
}

/** A decomposition with a test of each member. */
export interface JudgedDecomposition extends Decomposition {
  readonly members: readonly (Member & { readonly test: JudgedChange })[];
}

/** The analysis of a table of counts. */
export interface Analysis {
  readonly total: Sides & { readonly test: JudgedChange };
  /** Null if no prompt has data in both periods. */
  readonly promptSet: (PromptSetChange & { readonly test: JudgedChange }) | null;
  readonly dimensions: Readonly<Record<Dimension, JudgedDecomposition>>;
  /** Largest effect in the direction of the change first. */
  readonly causes: readonly Cause[];
}

/** Returns the member of a dimension that a cell belongs to. */
export type MemberOf = (cell: Cell, dimension: Dimension) => string | null;

/**
 * Explains the change of a metric by counts per prompt and engine: its decompositions, and the causes that the counts support.
 *
 * @returns null if a period has no data.
 */
export function analyseChange(metric: ExplainedMetric, cells: readonly Cell[], memberOf: MemberOf): Analysis | null {
  const sides = addSides(cells);
  const decomposed = DIMENSIONS.map((dimension) => decompose(groupCells(cells, (cell) => memberOf(cell, dimension))));
  if (decomposed.some((one) => one === null)) return null;
  const [total] = judgeChanges(metric, [sides]) as [JudgedChange];
  const judged = judgeDimensions(metric, sides, decomposed as Decomposition[]);
  const promptSet = splitByPromptSet(cells);
  const [panelTest] = judgeChanges(metric, promptSet === null ? [] : [promptSet.panel]);
  const dimensions = Object.fromEntries(DIMENSIONS.map((dimension, index) => [dimension, judged.dimensions[index]]));
  const analysis = {
    total: { ...sides, test: total },
    promptSet: promptSet === null || panelTest === undefined ? null : { ...promptSet, test: panelTest },
    dimensions: dimensions as Analysis['dimensions'],
  };
  const causes = [
    ...behaviourCauses(metric, cells, memberOf, analysis),
    ...(judged.isTotalSignificant ? mixCauses(metric, analysis) : []),
  ];
  const direction = Math.sign(total.change ?? 0);
  const rank = ({ effect }: Cause): number =>
    Math.sign(effect) === direction ? Math.abs(effect) : -1 / Math.abs(effect);
  return { ...analysis, causes: causes.sort((a, b) => rank(b) - rank(a)).slice(0, CAUSES_MAX) };
}

// The members of all dimensions and the total are one family of tests.
function judgeDimensions(
  metric: ExplainedMetric,
  total: Sides,
  decomposed: readonly Decomposition[],
): { isTotalSignificant: boolean; dimensions: JudgedDecomposition[] } {
  const [first, ...tests] = judgeChanges(metric, [total, ...decomposed.flatMap(({ members }) => members)]);
  let place = 0;
  const dimensions = decomposed.map((decomposition) => ({
    ...decomposition,
    members: decomposition.members.map((member) => ({ ...member, test: tests[place++] as JudgedChange })),
  }));
  return { isTotalSignificant: first?.isSignificant === true, dimensions };
}

interface Candidate {
  readonly dimension: Dimension | 'all';
  readonly id: string | null;
  readonly cells: readonly Cell[];
}

/**
 * Finds the member that explains the counts best, removes its responses, and searches the rest again. The best member is the one with
 * the largest standardised change: if the values of all other cells are constant, its model has the highest likelihood. So a
 * prompt is preferred to the topic that contains it if the topic's other prompts did not change.
 */
function behaviourCauses(
  metric: ExplainedMetric,
  cells: readonly Cell[],
  memberOf: MemberOf,
  { dimensions, promptSet }: Pick<Analysis, 'dimensions' | 'promptSet'>,
): Cause[] {
  const causes: Cause[] = [];
  let remaining = cells.filter(({ before, after }) => before.x > 0 && after.x > 0);
  while (causes.length < CAUSES_MAX && remaining.length > 0) {
    const best = bestOf(metric, candidatesOf(remaining, memberOf));
    if (best === null) break;
    const { dimension, id } = best.candidate;
    const sides = addSides(best.candidate.cells);
    if (dimension === 'all') {
      // If other causes were found, the change of the rest is their residue and not a cause.
      const effect = promptSet?.panel.change ?? 0;
      return causes.length > 0 ? causes : [{ kind: 'broad', dimension, id, effect, p: best.p, ...sides }];
    }
    const member = dimensions[dimension].members.find((one) => one.id === id);
    causes.push({ kind: 'behaviour', dimension, id, effect: member?.rate ?? 0, p: best.p, ...sides });
    const removed = new Set(best.candidate.cells);
    remaining = remaining.filter((cell) => !removed.has(cell));
  }
  return causes;
}

function candidatesOf(cells: readonly Cell[], memberOf: MemberOf): Candidate[] {
  const all: Candidate = { dimension: 'all', id: null, cells };
  // Finer dimensions first: a topic with one prompt is named by its prompt.
  const members = DIMENSIONS.toReversed().flatMap((dimension) => {
    const groups = cellsBy(cells, (cell) => memberOf(cell, dimension));
    return groups.size < 2 ? [] : [...groups].map(([id, own]): Candidate => ({ dimension, id, cells: own }));
  });
  return [...members, all];
}

function bestOf(metric: ExplainedMetric, candidates: readonly Candidate[]): { candidate: Candidate; p: number } | null {
  const tests = judgeChanges(
    metric,
    candidates.map(({ cells }) => addSides(cells)),
  );
  // A change that vanishes within the cells comes from the mix of prompts and engines.
  const within = candidates.map(({ cells }) => stratifiedZ(cells));
  const adjusted = adjustPs(within.map((z) => (z === null ? null : twoSidedP(z))));
  let best: { candidate: Candidate; p: number; score: number } | null = null;
  for (const [index, candidate] of candidates.entries()) {
    const { isSignificant, change, p } = tests[index] as JudgedChange;
    const z = within[index] ?? null;
    if (!isSignificant || z === null || p === null || Math.sign(z) !== Math.sign(change ?? 0)) continue;
    if ((adjusted[index] ?? 1) > ERROR_RATE) continue;
    if (best === null || Math.abs(z) > best.score) best = { candidate, p, score: Math.abs(z) };
  }
  return best;
}

// The numbers of responses have no sampling error, so the test compares the member's value with that of the other responses.
function mixCauses(
  metric: ExplainedMetric,
  { total, promptSet, dimensions }: Pick<Analysis, 'total' | 'promptSet' | 'dimensions'>,
): Cause[] {
  const change = total.test.change ?? 0;
  const isLarge = (effect: number): boolean =>
    Math.sign(effect) === Math.sign(change) && Math.abs(effect) >= MIX_PART_LEAST * Math.abs(change);
  const cause = (made: Omit<Cause, 'p'>, own: Sums, others: Sums): Cause[] => {
    const { p } = testChange(metric, { before: others, after: own });
    return isLarge(made.effect) && p !== null && p <= ERROR_RATE ? [{ ...made, p }] : [];
  };
  const set = (['added', 'removed'] as const).flatMap((kind) => {
    if (promptSet === null) return [];
    const { before, after, effect } = promptSet[kind];
    const side = kind === 'added' ? 'after' : 'before';
    const made = { kind, dimension: 'prompt' as const, id: null, effect, before, after };
    return cause(made, promptSet[kind][side], promptSet.panel[side]);
  });
  const engines = dimensions.engine.members.flatMap(({ id, mix, before, after }) => {
    const others = addSums([without(total.before, before), without(total.after, after)]);
    const made = { kind: 'mix' as const, dimension: 'engine' as const, id, effect: mix, before, after };
    return cause(made, addSums([before, after]), others);
  });
  return [...set, ...engines];
}
