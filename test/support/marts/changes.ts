import { inPeriods, LABELS, wilson } from './answers.ts';
import type { Hosts } from './citations.ts';
import { type Answer, count, daysBetween, groupBy, type Held, type Row, ratio, scopesOf, sum } from './held.ts';

/** Normal quantiles of 95 % and of 99 %. */
const [Z95, Z99] = [1.959963984540054, 2.5758293035489004];

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
    const [was, is] = [row['before_visibility'], row['recent_visibility']];
    const [lowerWas, upperWas] = wilson(row['before_mentions'], row['before_responses'], z);
    const [lowerIs, upperIs] = wilson(row['recent_mentions'], row['recent_responses'], z);
    const lower = is - was - Math.hypot(is - lowerIs, upperWas - was);
    const upper = is - was + Math.hypot(upperIs - is, was - lowerWas);
    return {
      ...row,
      change_lower: lower,
      change_upper: upper,
      interval_level: level,
      is_significant: isRejected && (lower > 0 || upper < 0),
    };
  });
}

/** Adds the p-values adjusted for all rows of a brand and scope: the smallest share of false discoveries that lists a row. */
function withAdjusted(rows: readonly Row[]): Row[] {
  return [...groupBy(rows, ({ brand_id, scope }) => `${brand_id} ${scope}`).values()].flatMap((family) => {
    const all = family.flatMap(({ p_value }) => (p_value === null ? [] : [p_value as number])).sort((a, b) => a - b);
    // The greatest rank whose p-value is below its part of the level; all up to it are rejected.
    const rejected = all.findLastIndex((p, index) => p <= (0.05 * (index + 1)) / all.length + 1e-15) + 1;
    const adjusted = (p: number): number =>
      Math.min(...all.flatMap((other, index) => (other >= p ? [(other * all.length) / (index + 1)] : [])), 1);
    return family.map((row) => ({
      ...row,
      adjusted_p: row['p_value'] === null ? null : adjusted(row['p_value']),
      tested: all.length,
      rejected,
    }));
  });
}

/** Fisher's exact test with half the probability of the outcome itself; null if only one outcome is possible. */
export function midP([x, n]: readonly [number, number], [y, k]: readonly [number, number]): number | null {
  const mentions = x + y;
  if (mentions === 0 || mentions === n + k) return null;
  const ways = (hits: number): bigint => binomial(k, hits) * binomial(n, mentions - hits);
  let [below, above] = [0n, 0n];
  for (let hits = 0; hits <= mentions; hits++) {
    if (hits < y) below += ways(hits);
    if (hits > y) above += ways(hits);
  }
  const [same, all] = [ways(y), binomial(n + k, mentions)];
  const part = (doubled: bigint): number => Number((doubled * 10n ** 24n) / (2n * all)) / 1e24;
  return Math.min(1, 2 * Math.min(part(2n * below + same), part(2n * above + same)));
}

function binomial(n: number, k: number): bigint {
  if (k < 0 || k > n) return 0n;
  let ways = 1n;
  for (let index = 1; index <= k; index++) ways = (ways * BigInt(n - k + index)) / BigInt(index);
  return ways;
}

/** The z whose two normal tails have this probability, by bisection. */
function quantile(tails: number): number {
  let [low, high] = [1, 10];
  for (let step = 0; step < 200; step++) {
    const z = (low + high) / 2;
    // Laplace's continued fraction of the normal tail.
    let fraction = z;
    for (let term = 400; term >= 1; term--) fraction = z + term / fraction;
    const tail = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI) / fraction;
    if (2 * tail > tails) low = z;
    else high = z;
  }
  return low;
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
      const [lower, upper] = wilson(mentioning.length, earlier, Z95);
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
          streak_upper: wilson(0, streak.length, Z95)[1],
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
    const scale = 10n ** 24n;
    return (chance * Number((scale * binomial(earlier, mentions)) / binomial(own.length, mentions))) / Number(scale);
  }, 1);
}

/** Measures that are ratios from 0 to 1. */
const FRACTIONS = ['share_of_voice', 'owned_citations'];

interface Unit {
  readonly part: number;
  readonly whole: number;
}

function brandChanges(answers: readonly Answer[], hosts: ReadonlyMap<string, Hosts>, periods: readonly Row[]): Row[] {
  return periods.flatMap((period) => {
    const { before, recent } = inPeriods(answers, period);
    const own = hosts.get(period['brand_id'])?.own ?? null;
    const measures: Record<string, (answer: Answer) => Unit[]> = {
      visibility: ({ mentioned }) => [{ part: mentioned ? 1 : 0, whole: 1 }],
      position: ({ position }) => (position === null ? [] : [{ part: position, whole: 1 }]),
      net_sentiment: ({ sentiment }) => {
        const lean = LABELS[sentiment ?? '']?.lean;
        return lean === undefined ? [] : [{ part: { positive: 1, neutral: 0, negative: -1 }[lean], whole: 1 }];
      },
      share_of_voice: ({ mentioned, mentions }) => {
        const part = mentioned ? 1 : 0;
        return part + mentions.length === 0 ? [] : [{ part, whole: part + mentions.length }];
      },
      owned_citations: ({ citations }) => {
        const named = citations.filter(({ domain }) => domain !== null);
        if (own === null || named.length === 0) return [];
        return [{ part: count(named, ({ domain }) => isBelow(domain, own)), whole: named.length }];
      },
    };
    return Object.entries(measures).flatMap(([measure, unitsOf]) => {
      const [was, is] = [before.flatMap(unitsOf), recent.flatMap(unitsOf)].map((units) => estimate(measure, units)) as [
        Row,
        Row,
      ];
      if (was['responses'] + is['responses'] === 0) return [];
      const isWhole = was['lower'] !== null && is['lower'] !== null;
      const change = was['value'] === null || is['value'] === null ? null : is['value'] - was['value'];
      const lower =
        isWhole && change !== null ? change - Math.hypot(is['value'] - is['lower'], was['upper'] - was['value']) : null;
      const upper =
        isWhole && change !== null ? change + Math.hypot(is['upper'] - is['value'], was['value'] - was['lower']) : null;
      const named = (name: string, side: Row): Row =>
        Object.fromEntries(Object.entries(side).map(([column, value]) => [`${name}_${column}`, value]));
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

function estimate(measure: string, units: readonly Unit[]): Row {
  const n = units.length;
  const [part, whole] = [sum(units, (unit) => unit.part), sum(units, (unit) => unit.whole)];
  const value = ratio(part, whole);
  const bounds = (): [number | null, number | null] => {
    if (value === null) return [null, null];
    if (measure === 'visibility') return wilson(part, whole, Z99);
    if (n < 30) return [null, null];
    const squares = sum(units, (unit) => (unit.part - value * unit.whole) ** 2);
    const isFlat = units.every((unit) => Math.abs(unit.part / unit.whole - value) < 1e-9);
    if (isFlat && FRACTIONS.includes(measure)) return wilson(value * n, n, Z99);
    const reach = (Z99 * Math.sqrt((n / (n - 1)) * squares)) / whole;
    return [value - reach, value + reach];
  };
  const [lower, upper] = bounds();
  return { responses: n, part, whole, value, lower, upper };
}

function isBelow(domain: string, host: string): boolean {
  const plain = domain
    .trim()
    .toLowerCase()
    .replace(/^www\./, '');
  return plain === host || plain.endsWith(`.${host}`);
}
