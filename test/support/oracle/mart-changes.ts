import { inPeriods, LABELS } from './mart-answers.ts';
import type { Hosts } from './mart-citations.ts';
import { type Answer, count, daysBetween, groupBy, type Held, type Row, scopesOf } from './rows.ts';
import { adjust, changeOf, type Estimate, estimate, midP, quantile, type Unit, wilson, Z99 } from './statistics.ts';

/** Returns the expected rows of the marts about changes and their significance, by name. */
export async function expectedChanges(
  held: Held,
  hosts: ReadonlyMap<string, Hosts>,
  periods: readonly Row[],
): Promise<Record<string, Row[]>> {
  const { answers } = held;
  const prompts = new Map((await held.rows('prompts')).map((row) => [`${row['brand_id']} ${row['id']}`, row]));
  const changes = promptChanges(answers, periods, prompts);
  return {
    prompt_changes: changes,
    prompt_movers: changes.filter(({ is_significant }) => is_significant).map(({ is_significant: _, ...row }) => row),
    lost_prompts: lost(answers, prompts),
    brand_changes: brandChanges(answers, hosts, periods),
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
            p_value: midP([b, then.length], [m, now.length]),
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

/** Measures that are ratios from 0 to 1. */
const FRACTIONS = ['share_of_voice', 'owned_citations'];

function brandChanges(answers: readonly Answer[], hosts: ReadonlyMap<string, Hosts>, periods: readonly Row[]): Row[] {
  return periods.flatMap((period) => {
    const { before, recent } = inPeriods(answers, period);
    const own = hosts.get(period['brand_id'])?.own ?? null;
    const measures: Record<string, (answer: Answer) => Unit[]> = {
      visibility: ({ mentioned }) => [{ y: mentioned ? 1 : 0, x: 1 }],
      position: ({ position }) => (position === null ? [] : [{ y: position, x: 1 }]),
      net_sentiment: ({ sentiment }) => {
        const lean = LABELS[sentiment ?? '']?.lean;
        return lean === undefined ? [] : [{ y: { positive: 1, neutral: 0, negative: -1 }[lean], x: 1 }];
      },
      share_of_voice: ({ mentioned, mentions }) => {
        const y = mentioned ? 1 : 0;
        return y + mentions.length === 0 ? [] : [{ y, x: y + mentions.length }];
      },
      owned_citations: ({ citations }) => {
        const named = citations.filter(({ domain }) => domain !== null);
        if (own === null || named.length === 0) return [];
        return [{ y: count(named, ({ domain }) => isBelow(domain, own)), x: named.length }];
      },
    };
    return Object.entries(measures).flatMap(([measure, unitsOf]) => {
      const kind = measure === 'visibility' ? 'share' : 'ratio';
      const of = (units: readonly Unit[]) => estimate(kind, FRACTIONS.includes(measure), units, Z99);
      const [was, is] = [of(before.flatMap(unitsOf)), of(recent.flatMap(unitsOf))];
      if (was.n + is.n === 0) return [];
      const { change, lower, upper } = changeOf(is, was);
      const named = (name: string, { n, reach: _, ...side }: Estimate): Row =>
        Object.fromEntries(
          Object.entries({ responses: n, ...side }).map(([column, value]) => [`${name}_${column}`, value]),
        );
      return [
        {
          brand_id: period['brand_id'],
          measure,
          ...named('before', was),
          ...named('recent', is),
          change,
          change_lower: lower,
          change_upper: upper,
          is_significant: lower !== null && upper !== null && (lower > 0 || upper < 0),
        },
      ];
    });
  });
}

function isBelow(domain: string, host: string): boolean {
  const plain = domain
    .trim()
    .toLowerCase()
    .replace(/^www\./, '');
  return plain === host || plain.endsWith(`.${host}`);
}
