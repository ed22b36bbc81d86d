import { inPeriods, WORTHS } from './mart-answers.ts';
import { type NaiveWorld, naiveUnits, readNaiveWorld } from './metrics.ts';
import { type Answer, count, daysBetween, groupBy, type Held, type Row, scopesOf } from './rows.ts';
import {
  adjust,
  changeOf,
  type Estimate,
  estimate,
  mantelHaenszel,
  midP,
  quantile,
  wilson,
  Z99,
} from './statistics.ts';

/** Returns the expected rows of the marts about changes and their significance, by name. */
export async function expectedChanges(held: Held, periods: readonly Row[]): Promise<Record<string, Row[]>> {
  const { answers } = held;
  const prompts = new Map((await held.rows('prompts')).map((row) => [`${row['brand_id']} ${row['id']}`, row]));
  const changes = promptChanges(answers, periods, prompts);
  return {
    prompt_changes: changes,
    prompt_movers: changes.filter(({ is_significant }) => is_significant).map(({ is_significant: _, ...row }) => row),
    lost_prompts: lost(answers, prompts),
    brand_changes: brandChanges(await readNaiveWorld(held, WORTHS), periods),
  };
}

function promptChanges(answers: readonly Answer[], periods: readonly Row[], prompts: ReadonlyMap<string, Row>): Row[] {
  const rows = periods.flatMap((period) => {
    const { recent, before } = inPeriods(answers, period);
    return [...groupBy([...recent, ...before], ({ prompt }) => prompt)].flatMap(([id, own]) => {
      const prompt = prompts.get(`${period['brand_id']} ${id}`);
      if (prompt === undefined) return [];
      return scopesOf(own).flatMap(({ where, answers: scoped }) => {
        const now = scoped.filter((answer) => recent.includes(answer));
        const then = scoped.filter((answer) => before.includes(answer));
        if (now.length === 0 || then.length === 0) return [];
        const [m, b] = [count(now, ({ mentioned }) => mentioned), count(then, ({ mentioned }) => mentioned)];
        return [
          {
            brand_id: period['brand_id'],
            prompt_id: id,
            text: prompt['text'],
            ...where,
            before_responses: then.length,
            before_mentions: b,
            before_visibility: b / then.length,
            recent_responses: now.length,
            recent_mentions: m,
            recent_visibility: m / now.length,
            change: m / now.length - b / then.length,
            p_value: promptP(then, now),
          },
        ];
      });
    });
  });
  return withAdjusted(rows).map(({ rejected, ...row }) => {
    const isRejected = row['adjusted_p'] !== null && row['adjusted_p'] <= 0.05;
    const level = isRejected ? 1 - (0.05 * rejected) / row['tested'] : 0.95;
    const z = quantile(1 - level);
    const boundsOf = (name: string) => ({
      value: row[`${name}_visibility`],
      ...wilson(row[`${name}_mentions`], row[`${name}_responses`], z),
    });
    const { lower, upper } = changeOf(boundsOf('recent'), boundsOf('before'));
    return {
      ...row,
      change_lower: lower,
      change_upper: upper,
      interval_level: level,
      is_significant: isRejected && (Number(lower) > 0 || Number(upper) < 0),
    };
  });
}

function promptP(before: readonly Answer[], recent: readonly Answer[]): number | null {
  const counted = (answers: readonly Answer[]) =>
    [count(answers, ({ mentioned }) => mentioned), answers.length] as const;
  const [was, is] = [counted(before), counted(recent)];
  const exact = midP(was, is);
  const engines = [...groupBy([...before, ...recent], ({ engine }) => engine).values()];
  if (exact === null || engines.length === 1) return exact;
  const { p, surplus } = mantelHaenszel(
    engines.map((own) => {
      const [then, now] = [before, recent].map((period) => own.filter((answer) => period.includes(answer)));
      return [counted(then ?? []), counted(now ?? [])] as const;
    }),
  );
  const change = is[0] / is[1] - was[0] / was[1];
  return surplus * change > 0 ? Math.max(exact, p) : 1;
}

/** Adds the p-values adjusted for all rows of a brand and scope: the smallest share of false discoveries that lists a row. */
function withAdjusted(rows: readonly Row[]): Row[] {
  return [...groupBy(rows, ({ brand_id, scope }) => `${brand_id} ${scope}`).values()].flatMap((family) => {
    const all = family.flatMap(({ p_value }) => (p_value === null ? [] : [p_value as number])).sort((a, b) => a - b);
    // The greatest rank whose p-value is below its part of the level; all up to it are rejected.
    const rejected = all.findLastIndex((p, index) => p <= (0.05 * (index + 1)) / all.length + 1e-15) + 1;
    const adjusted = adjust(family.map(({ p_value }) => p_value));
    return family.map((row, index) => ({ ...row, adjusted_p: adjusted[index], tested: all.length, rejected }));
  });
}

function lost(answers: readonly Answer[], prompts: ReadonlyMap<string, Row>): Row[] {
  const rows = [...groupBy(answers, ({ brand, prompt }) => `${brand} ${prompt}`)].flatMap(([key, own]) => {
    const prompt = prompts.get(key);
    if (prompt === undefined) return [];
    return scopesOf(own).flatMap(({ where, answers: scoped }) => {
      const inTime = [...scoped].sort((a, b) => a.at - b.at);
      const mentioning = inTime.filter(({ mentioned }) => mentioned);
      const [last, newest] = [mentioning.at(-1), inTime.at(-1)];
      if (last === undefined || newest === undefined || mentioning.length === inTime.length) return [];
      const streak = inTime.filter(({ at }) => at > last.at);
      const earlier = inTime.length - streak.length;
      const { lower, upper } = wilson(mentioning.length, earlier);
      return [
        {
          brand_id: prompt['brand_id'],
          prompt_id: prompt['id'],
          text: prompt['text'],
          active: prompt['active'],
          ...where,
          responses: scoped.length,
          mentions: mentioning.length,
          last_mentioned_at: last.at,
          last_answered_at: newest.at,
          earlier_responses: earlier,
          earlier_visibility: mentioning.length / earlier,
          earlier_lower: lower,
          earlier_upper: upper,
          streak_responses: streak.length,
          streak_days: daysBetween(last.day, newest.day),
          streak_upper: wilson(0, streak.length).upper,
          p_value: streakChance(scoped, last.at),
        },
      ];
    });
  });
  return withAdjusted(rows)
    .filter(({ adjusted_p }) => adjusted_p <= 0.05)
    .filter((row) => (1 - row['earlier_visibility']) ** row['streak_responses'] <= 0.05)
    .map(({ rejected: _, ...row }) => row);
}

/** Of all orders of the responses of each engine, the share in which no mention comes after a moment. */
function streakChance(answers: readonly Answer[], after: number): number {
  return [...groupBy(answers, ({ engine }) => engine).values()].reduce((chance, own) => {
    const mentions = count(own, ({ mentioned }) => mentioned);
    const earlier = count(own, ({ at }) => at <= after);
    // The share of the ways to place the mentions that use only earlier places.
    return range(mentions).reduce((part, place) => (part * (earlier - place)) / (own.length - place), chance);
  }, 1);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

/** Measures and whether they are ratios from 0 to 1. */
const MEASURES = [
  ['visibility', false],
  ['position', false],
  ['net_sentiment', false],
  ['share_of_voice', true],
  ['owned_citations', true],
] as const;

function brandChanges(world: NaiveWorld, periods: readonly Row[]): Row[] {
  return periods.flatMap(({ brand_id, before_from, before_to, recent_from, anchor_day }) =>
    MEASURES.flatMap(([measure, isFraction]) => {
      const kind = measure === 'visibility' ? 'share' : 'ratio';
      const of = (from: string | null, to: string): Estimate => {
        const range = { from: from ?? '', to };
        const asked = { measure, groupBy: [], grain: null, ...range, before: null, brands: [brand_id], filters: {} };
        const units = from === null ? [] : (naiveUnits(world, asked, range).get('[]') ?? []);
        return estimate(kind, isFraction, units, Z99);
      };
      const [was, is] = [of(before_from, before_to), of(recent_from, anchor_day)];
      if (was.n + is.n === 0) return [];
      const { change, lower, upper } = changeOf(is, was);
      const named = (name: string, { n, reach: _, ...side }: Estimate): Row =>
        Object.fromEntries(
          Object.entries({ responses: n, ...side }).map(([column, value]) => [`${name}_${column}`, value]),
        );
      return [
        {
          brand_id,
          measure,
          ...named('before', was),
          ...named('recent', is),
          change,
          change_lower: lower,
          change_upper: upper,
          is_significant: lower !== null && upper !== null && (lower > 0 || upper < 0),
        },
      ];
    }),
  );
}
