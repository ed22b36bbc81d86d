import type { Choices } from './choices.ts';
import type { Answer, Brand, Competitor } from './world.ts';

/** What one brand or competitor got in some responses. */
export interface Counts {
  readonly responses: number;
  readonly mentions: number;
  readonly allMentions: number;
  readonly positions: readonly number[];
  readonly sentiments: readonly string[];
}

/** The brand (null) or a competitor of it. */
export type Entity = Competitor | null;

const WEIGHTS = {
  '0-50-100': [0, 50, 100],
  'minus-1-to-1': [-1, 0, 1],
  '0-to-1': [0, 0.5, 1],
  '1-to-5': [1, 3, 5],
  'minus-100-to-100': [-100, 0, 100],
} as const;

/** Rounds to `decimals`, or not at all. */
export function roundNumber(value: number, decimals: number | 'all', mode: Choices['rounding']): number {
  if (decimals === 'all') return value;
  if (mode === 'to-fixed') return Number(value.toFixed(decimals));
  const factor = 10 ** decimals;
  const scaled = value * factor;
  if (mode === 'truncate') return Math.trunc(scaled) / factor;
  if (mode === 'math-round') return Math.round(scaled) / factor;
  const isHalf = Math.abs(scaled - Math.trunc(scaled)) === 0.5;
  if (mode === 'half-even' && isHalf) return (2 * Math.round(scaled / 2)) / factor;
  return (Math.sign(scaled) * Math.round(Math.abs(scaled))) / factor;
}

/** A share of `total` in the scale and with the decimals given; null if `total` is 0. */
export function toShare(
  part: number,
  total: number,
  form: {
    readonly scale: 'percent' | 'fraction';
    readonly decimals: number | 'all';
    readonly rounding: Choices['rounding'];
  },
): number | null {
  if (total === 0) return null;
  const { scale, decimals, rounding } = form;
  if (scale === 'percent') return roundNumber((100 * part) / total, decimals, rounding);
  return roundNumber(part / total, decimals === 'all' ? 'all' : decimals + 2, rounding);
}

/** Whether a deleted competitor's mentions belong to the total of shareOfVoice. */
function isInTotal({ isDeleted }: Competitor, choices: Choices): boolean {
  return !isDeleted || choices.deletedCompetitors !== 'ignored';
}

/** Counts the responses, the mentions of `entity` and those of everybody. */
export function countFor(answers: readonly Answer[], entity: Entity, choices: Choices): Counts {
  const positions: number[] = [];
  const sentiments: string[] = [];
  let allMentions = 0;
  for (const { brandPosition, brandSentiment, mentions } of answers) {
    if (brandPosition !== null) allMentions += 1;
    for (const { competitor } of mentions) if (isInTotal(competitor, choices)) allMentions += 1;
    const found =
      entity === null
        ? { position: brandPosition, sentiment: brandSentiment }
        : mentions.find(({ competitor }) => competitor.id === entity.id);
    if (found === undefined || found.position === null) continue;
    positions.push(found.position);
    if (found.sentiment !== null) sentiments.push(found.sentiment);
  }
  return { responses: answers.length, mentions: positions.length, allMentions, positions, sentiments };
}

export function visibilityOf({ responses, mentions }: Counts, choices: Choices): number | null {
  const { visibilityScale: scale, visibilityDecimals: decimals, rounding, emptyVisibility } = choices;
  return toShare(mentions, responses, { scale, decimals, rounding }) ?? (emptyVisibility === 'zero' ? 0 : null);
}

export function shareOfVoiceOf({ mentions, allMentions }: Counts, choices: Choices): number | null {
  const { shareOfVoiceScale: scale, shareOfVoiceDecimals: decimals, rounding, emptyShareOfVoice } = choices;
  return toShare(mentions, allMentions, { scale, decimals, rounding }) ?? (emptyShareOfVoice === 'zero' ? 0 : null);
}

export function positionOf(
  { positions }: Counts,
  { positionDecimals, rounding, emptyPosition }: Choices,
): number | null {
  if (positions.length === 0) return emptyPosition === 'zero' ? 0 : null;
  return roundNumber(sum(positions) / positions.length, positionDecimals, rounding);
}

export function sentimentOf({ sentiments }: Counts, choices: Choices): number | null {
  const weights = sentiments.map((label) => weightOf(label, choices)).filter((weight) => weight !== null);
  if (weights.length === 0) return choices.emptySentiment === 'zero' ? 0 : null;
  const { sentimentDecimals: decimals, sentimentWeights, rounding } = choices;
  const isSmall = Math.max(...WEIGHTS[sentimentWeights]) < 10;
  return roundNumber(sum(weights) / weights.length, decimals !== 'all' && isSmall ? decimals + 2 : decimals, rounding);
}

function weightOf(label: string, { sentimentWeights, mixedSentiment }: Choices): number | null {
  const [negative, neutral, positive] = WEIGHTS[sentimentWeights];
  if (label === 'positive') return positive;
  if (label === 'negative') return negative;
  if (label === 'neutral' || mixedSentiment === 'neutral') return neutral;
  return mixedSentiment === 'ignored' ? null : (negative + neutral) / 2;
}

/** How visibility changed between two sets of responses. */
export function changeOf(now: Counts, before: Counts, choices: Choices): number | null {
  const { visibilityScale: scale, visibilityDecimals, rounding, changeOf: basis, emptyVisibility } = choices;
  if (now.responses === 0) return emptyVisibility === 'zero' ? 0 : null;
  if (before.responses === 0 && choices.changeWithoutPrevious !== 'from-zero') {
    return choices.changeWithoutPrevious === 'zero' ? 0 : null;
  }
  const decimals = basis === 'exact' ? 'all' : visibilityDecimals;
  const form = { scale, decimals, rounding } as const;
  const current = toShare(now.mentions, now.responses, form) ?? 0;
  const previous = toShare(before.mentions, before.responses, form) ?? 0;
  const shown = visibilityDecimals === 'all' || scale === 'percent' ? visibilityDecimals : visibilityDecimals + 2;
  if (choices.changeKind === 'difference') return roundNumber(withoutNoise(current - previous), shown, rounding);
  if (previous === 0) return null;
  const ratio = (current - previous) / previous;
  return roundNumber(scale === 'percent' ? 100 * ratio : ratio, shown, rounding);
}

// The difference of two rounded numbers, such as 33.3 - 12.2, has noise in the last binary digits.
function withoutNoise(value: number): number {
  return Number(value.toFixed(10));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Compares texts by the order that upstream's database uses. */
export function compareText(left: string, right: string, { textOrder }: Choices): number {
  const [a, b] = textOrder === 'bytes' ? [left, right] : [left.toLowerCase(), right.toLowerCase()];
  if (a === b) return left < right ? -1 : left > right ? 1 : 0;
  return a < b ? -1 : 1;
}

/** Competitors in the order of their list. Deleted ones, which the list does not have, come last. */
export function listedCompetitors({ competitors }: Brand, choices: Choices): Competitor[] {
  return [...competitors].sort((left, right) => {
    if (left.isDeleted !== right.isDeleted) return left.isDeleted ? 1 : -1;
    if (choices.competitorListOrder === 'name') return compareText(left.name, right.name, choices);
    return left.createdAt - right.createdAt;
  });
}
