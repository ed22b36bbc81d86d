import { percent } from './charts.ts';
import { ratio, type Share } from './share.ts';

/** Formats a count with separators. */
export function size(value: number): string {
  return value.toLocaleString('en-US');
}

/** Formats a share with its counts: `43.2 % (812 of 1,880)`. Lines break before the counts only. */
export function counted(one: Share): string {
  const value = ratio(one);
  return value === null
    ? 'none'
    : `${unbroken(percent(value))} ${unbroken(`(${size(one.part)} of ${size(one.whole)})`)}`;
}

/** Formats a difference with its sign, as `+3.1`. */
export function signed(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  if (Number(text) === 0) return text;
  return `${value < 0 ? '−' : '+'}${text}`;
}

/** Formats a difference of shares with its interval: `+3.1 points (−1.2 to +7.4)`. */
export function points(by: number, { lower, upper }: { readonly lower: number; readonly upper: number }): string {
  return `${signed(100 * by, 1)} points (${signed(100 * lower, 1)} to ${signed(100 * upper, 1)})`;
}

/** Keeps a text in one line by no-break spaces. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0');
}
