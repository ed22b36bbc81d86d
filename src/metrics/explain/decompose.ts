import { addSides, addSums, type Cell, ratioOf, type Sides, without } from './sums.ts';

/** The part of a member, such as one engine, in the change of a metric. */
export interface Contribution {
  /** Effect of the member's changed share of the data. */
  readonly mix: number;
  /** Effect of the member's changed value. */
  readonly rate: number;
  /** `mix + rate`. */
  readonly effect: number;
}

/** A member of a dimension: its sums, and its part in the change. */
export interface Member extends Sides, Contribution {
  readonly id: string | null;
  /** Whether both periods have data on it, or only the later (new) or the earlier one (gone). */
  readonly presence: 'both' | 'new' | 'gone';
  /** Share of the denominator, from 0 to 1. */
  readonly weightBefore: number;
  readonly weightAfter: number;
}

/** The contributions of a dimension's members, which add up to the change because each response belongs to one member. */
export interface Decomposition {
  readonly mix: number;
  readonly rate: number;
  /** Largest effect first. */
  readonly members: readonly Member[];
}

/**
 * Decomposes the change of a ratio into the contributions of groups that divide the responses, by Kitagawa's symmetric form. With the
 * weight w (share of the denominator) and the value r of a group, its rate effect is mean(w) * (r1 - r0), and its mix effect
 * (w1 - w0) * (mean(r) - R), where R is the mean of the two totals. The weights add up to 1 in both periods, so all effects add up to
 * the change for any R; this one makes the mix effect of a growing group positive if its value is above the total's. A group without
 * data in a period has no value there: it counts with its other value, so its effect is a mix effect.
 *
 * Source: Kitagawa, E. M. (1955), Components of a difference between two rates, JASA 50:1168-1194. Das Gupta, P. (1993),
 * Standardization and decomposition of rates, U.S. Bureau of the Census P23-186.
 *
 * @returns null if a period has no data.
 */
export function decompose(groups: ReadonlyMap<string | null, Sides>): Decomposition | null {
  const total = addSides([...groups.values()]);
  const [was, is] = [ratioOf(total.before), ratioOf(total.after)];
  if (was === null || is === null) return null;
  const reference = (was + is) / 2;
  const members = [...groups].flatMap(([id, { before, after }]): Member[] => {
    const [value0, value1] = [ratioOf(before) ?? ratioOf(after), ratioOf(after) ?? ratioOf(before)];
    if (value0 === null || value1 === null) return [];
    const [weightBefore, weightAfter] = [before.x / total.before.x, after.x / total.after.x];
    const mix = (weightAfter - weightBefore) * ((value0 + value1) / 2 - reference);
    const rate = ((weightBefore + weightAfter) / 2) * (value1 - value0);
    const presence = before.x === 0 ? 'new' : after.x === 0 ? 'gone' : 'both';
    return [{ id, presence, before, after, weightBefore, weightAfter, mix, rate, effect: mix + rate }];
  });
  members.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  return {
    mix: members.reduce((sum, { mix }) => sum + mix, 0),
    rate: members.reduce((sum, { rate }) => sum + rate, 0),
    members,
  };
}

/** The change of a metric, divided into changed behaviour on the same prompts, and a changed set of prompts. */
export interface PromptSetChange {
  /** Prompts with data in both periods. */
  readonly panel: Sides & { readonly prompts: number; readonly change: number };
  /** Prompts with data only in the later or only in the earlier period. `effect` is 0 if there are none. */
  readonly added: Sides & { readonly prompts: number; readonly effect: number };
  readonly removed: Sides & { readonly prompts: number; readonly effect: number };
}

/**
 * Divides the change of a ratio by the set of prompts. With the share a of the new prompts in the later denominator, their value N, and
 * the value P of the constant panel, R1 = P1 + a * (N - P1). The removed prompts have the opposite effect in the earlier period. The three
 * effects add up to the change.
 *
 * @returns null if no prompt has data in both periods.
 */
export function splitByPromptSet(cells: readonly Cell[]): PromptSetChange | null {
  const prompts = [...groupCells(cells, ({ promptId }) => promptId).values()];
  const present = prompts.filter(({ before, after }) => before.x > 0 && after.x > 0);
  const panel = addSides(present);
  const [was, is] = [ratioOf(panel.before), ratioOf(panel.after)];
  if (was === null || is === null) return null;
  const total = addSides(cells);
  const side = (which: 'before' | 'after', other: 'before' | 'after') => {
    const only = prompts.filter((prompt) => prompt[which].x > 0 && prompt[other].x === 0);
    const sums = addSums(only.map((prompt) => prompt[which]));
    const own = ratioOf(sums);
    const rest = ratioOf(without(total[which], sums));
    const shift = own === null || rest === null ? 0 : (sums.x / total[which].x) * (own - rest);
    return { ...addSides(only), prompts: only.length, shift };
  };
  const { shift: growth, ...added } = side('after', 'before');
  const { shift: loss, ...removed } = side('before', 'after');
  return {
    panel: { ...panel, prompts: present.length, change: is - was },
    added: { ...added, effect: growth },
    // Without a negative zero.
    removed: { ...removed, effect: 0 - loss },
  };
}

/** Adds up the cells of each group. */
export function groupCells(cells: readonly Cell[], keyOf: (cell: Cell) => string | null): Map<string | null, Sides> {
  return new Map([...cellsBy(cells, keyOf)].map(([key, own]) => [key, addSides(own)]));
}

/** Groups cells by key; keys keep the order of their first cell. */
export function cellsBy(cells: readonly Cell[], keyOf: (cell: Cell) => string | null): Map<string | null, Cell[]> {
  const groups = new Map<string | null, Cell[]>();
  for (const cell of cells) {
    const group = groups.get(keyOf(cell));
    if (group === undefined) groups.set(keyOf(cell), [cell]);
    else group.push(cell);
  }
  return groups;
}
