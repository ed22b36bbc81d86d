import { shownDay, shownDays } from '../../../contract/time.ts';

/** Format of a value. Values of `ratio` are 0 to 1. */
export type Unit = 'ratio' | 'count' | 'number' | 'position' | 'score' | 'money' | 'day' | 'time' | 'text';

const DIGITS: Readonly<Partial<Record<Unit, Intl.NumberFormatOptions>>> = {
  ratio: { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 },
  count: { maximumFractionDigits: 0 },
  number: { maximumFractionDigits: 2 },
  position: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
  score: { maximumFractionDigits: 0 },
  money: { minimumFractionDigits: 2, maximumFractionDigits: 2 },
};

/** Smaller p values are shown as less than this, and so are ratios that would be rounded to zero. */
const LEAST = 0.001;

/** Below it a number with six decimals would lose its digits. */
const SMALL = 0.001;

/** Shown for values that are missing. */
export const NO_VALUE = '–';

/** Formats numbers and days in British English, the language of the pages; times and days are UTC. */
export interface Format {
  value(value: unknown, unit: Unit): string;
  /** A number with up to six decimals, or four digits if it is smaller; years are not grouped. */
  exact(value: number): string;
  /** A number with as few digits as the ticks of an axis need. */
  tick(value: number, unit: Unit): string;
  /** A difference with its sign; a difference of ratios is in points of a percentage. */
  change(value: number | null, unit: Unit): string;
  /** The same without a unit, and without a sign if `isSize`. */
  difference(value: number, unit: Unit, isSize?: boolean): string;
  /** The bounds of a value or of a difference. */
  interval(lower: number, upper: number, unit: Unit): string;
  changes(lower: number, upper: number, unit: Unit): string;
  /** A p value. */
  p(value: number | null): string;
  day(day: string | null): string;
  /** A range of days: `26 Oct to 22 Nov 2026`. */
  days(from: string, to: string): string;
  /** A day without its year. */
  shortDay(day: string): string;
  /** A time in UTC. */
  time(time: string | null): string;
  /** A time of the day in UTC. */
  clock(time: string): string;
  /** The same time in the time zone of the reader. */
  localTime(time: string | null): string;
}

const LOCALE = 'en-GB';

/** Keeps the numbers of a sentence and their per cent signs on one line. */
export const unbroken = (sentence: string): string => sentence.replaceAll(' %', '\u202f%');

/** Creates the formats. */
export function createFormat(): Format {
  const numbers = (options: Intl.NumberFormatOptions): { format(value: number): string } => {
    const format = new Intl.NumberFormat(LOCALE, options);
    // A minus sign, and a narrow space before the per cent sign.
    return { format: (value) => format.format(value).replace('-', '−').replace('%', '\u202f%') };
  };
  const formats = new Map(Object.entries(DIGITS).map(([unit, options]) => [unit, numbers(options)]));
  const p = numbers({ minimumFractionDigits: 3, maximumFractionDigits: 3 });
  const ticks = numbers({ maximumFractionDigits: 2, notation: 'compact' });
  const exact = numbers({ maximumFractionDigits: 6, useGrouping: 'min2' });
  const small = numbers({ maximumSignificantDigits: 4, notation: 'scientific' });
  const percents = numbers({ style: 'percent', maximumFractionDigits: 1 });
  const signed = (digits: number): { format(value: number): string } =>
    numbers({ signDisplay: 'exceptZero', minimumFractionDigits: digits, maximumFractionDigits: digits });
  const changes = { ratio: signed(1), score: signed(1), count: signed(0), other: signed(2) };
  const difference = (value: number, unit: Unit, isSize = false): string => {
    const kind = unit === 'ratio' || unit === 'score' || unit === 'count' ? unit : 'other';
    const text = changes[kind].format((isSize ? Math.abs(value) : value) * (unit === 'ratio' ? 100 : 1));
    return isSize ? text.replace('+', '') : text;
  };
  const localTimes = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'full', timeStyle: 'long' });
  const dated = (text: string | null, shown: (iso: string, time: number) => string): string => {
    const time = text === null ? Number.NaN : Date.parse(text);
    return Number.isNaN(time) ? NO_VALUE : shown(new Date(time).toISOString(), time);
  };
  const day = (text: string | null): string => dated(text, (iso) => shownDay(iso.slice(0, 10)));
  const time = (text: string | null): string =>
    dated(text, (iso) => `${shownDay(iso.slice(0, 10))}, ${iso.slice(11, 16)} UTC`);
  const value = (given: unknown, unit: Unit): string => {
    if (given === null || given === undefined || given === '') return NO_VALUE;
    if (unit === 'day') return day(String(given));
    if (unit === 'time') return time(String(given));
    const format = formats.get(unit);
    if (format === undefined || typeof given !== 'number') return String(given);
    const isSmall = unit === 'ratio' && given > 0 && given < LEAST / 2;
    return isSmall ? `< ${format.format(LEAST)}` : format.format(given);
  };
  return {
    value,
    day,
    time,
    clock: (text) => dated(text, (iso) => `${iso.slice(11, 16)} UTC`),
    days: shownDays,
    shortDay: (text) => day(text).replace(/ \d+$/, ''),
    localTime: (text) => dated(text, (_iso, at) => localTimes.format(at)),
    p: (given) => (given === null ? NO_VALUE : given < LEAST ? `< ${p.format(LEAST)}` : p.format(given)),
    exact: (given) => (given !== 0 && Math.abs(given) < SMALL ? small : exact).format(given),
    tick: (given, unit) => (unit === 'ratio' ? percents : ticks).format(given),
    change: (given, unit) => (given === null ? NO_VALUE : `${difference(given, unit)}${unit === 'ratio' ? ' pt' : ''}`),
    difference,
    interval: (lower, upper, unit) => {
      const [from, to] = [lower, upper].map((bound) => value(bound, unit)) as [string, string];
      return `${from.replace(/\s*%$/u, '')} to ${to}`;
    },
    changes: (lower, upper, unit) =>
      `${difference(lower, unit)} to ${difference(upper, unit)}${unit === 'ratio' ? ' pt' : ''}`,
  };
}
