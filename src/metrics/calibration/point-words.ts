import { CASELESS, sortKeyOf } from '../numbers/order.ts';
import { choices } from './choices.ts';
import type { Conventions, Rounding } from './conventions.ts';

/** Returns the value of a convention in words, or the value if it has none. */
export function choiceText(name: keyof Conventions, value: unknown): string {
  const texts: Partial<Record<string, Readonly<Record<string, string>>>> = choices;
  return texts[name]?.[String(value)] ?? String(value);
}

/** Names of sort keys, if the name of the field is not enough. */
const keyWords: Readonly<Record<string, string>> = {
  brand: 'the brand first',
  listed: "upstream's list",
  entity: 'the order of competitors',
  engineListed: "the brand's list of engines",
  exactVisibility: 'unrounded visibility',
  appearance: 'first prompt of the group',
  stageAppearance: 'first prompt of the funnel stage',
  firstSeen: 'first citation',
  lastSeen: 'last citation',
  firstTime: 'time of the first citation',
  lastTime: 'time of the last citation',
  answered: 'without responses first',
  competitorId: 'id',
  promptId: 'id',
  groupId: 'id',
};

/** Returns an order in words: `citations (descending), then domain`. */
export function orderText(order: readonly string[]): string {
  const words = order.map((key) => {
    const name = sortKeyOf(key);
    const details = [
      ...(key.startsWith('-') ? ['descending'] : []),
      ...(key.endsWith(CASELESS) ? ['ignoring case'] : []),
    ].join(', ');
    return `${keyWords[name] ?? name}${details === '' ? '' : ` (${details})`}`;
  });
  return words.join(', then ');
}

/** Returns the number of decimals in words. */
export function decimalsText({ decimals }: Rounding): string {
  if (decimals === null) return 'not rounded';
  if (decimals === 0) return 'rounded to whole numbers';
  return `rounded to ${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}`;
}
