import { validateDetailed } from 'node-cron';

/** The allowed cron expressions, as error messages describe them. */
export const CRON_ALLOWED =
  'five fields as in crontab(5): minute, hour, day of month, month, day of week, such as "15 2 * * *"';

/** A parsed cron expression. */
export interface Cron {
  /** The five fields as given, separated by single spaces. */
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** True if both day fields are restricted. A day then has to match only one of them, as in crontab(5). */
  readonly isEitherDay: boolean;
  /** True if every hour matches. Such an expression is due in both of the hours that a clock change repeats. */
  readonly isEveryHour: boolean;
}

/** Parses a cron expression of five fields. Returns a description of the error if it is invalid or matches no day. */
export function parseCron(text: string): Cron | string {
  const written = text.trim().split(/\s+/);
  if (written.length !== 5) return `it has ${written.length === 1 ? '1 field' : `${written.length} fields`}`;
  const { valid, fields, errors } = validateDetailed(written.join(' '));
  const wrong = errors[0];
  if (!valid || fields === undefined) return wrong?.message ?? 'it cannot be parsed';
  const { minute, hour, month } = fields;
  const [daysOfMonth, daysOfWeek] = [onlyNumbers(fields.dayOfMonth), onlyNumbers(fields.dayOfWeek)];
  if (daysOfMonth === null || daysOfWeek === null) return 'days must be numbers, names, lists, ranges and steps';
  const isEitherDay = [written[2], written[4]].every((field) => !/^[*?]/.test(field ?? ''));
  const longest = Math.max(...month.map((number) => new Date(Date.UTC(2024, number, 0)).getUTCDate()));
  if (!isEitherDay && Math.min(...daysOfMonth) > longest) return 'none of its months has such a day';
  return {
    text: written.join(' '),
    minutes: new Set(minute),
    hours: new Set(hour),
    months: new Set(month),
    daysOfMonth: new Set(daysOfMonth),
    // 7 is Sunday, too.
    daysOfWeek: new Set(daysOfWeek.map((day) => day % 7)),
    isEitherDay,
    isEveryHour: new Set(hour).size === 24,
  };
}

/** Reports whether an expression matches a day of the proleptic Gregorian calendar; `month` counts from 1. */
export function matchesDay(cron: Cron, day: { month: number; dayOfMonth: number; dayOfWeek: number }): boolean {
  if (!cron.months.has(day.month)) return false;
  const [ofMonth, ofWeek] = [cron.daysOfMonth.has(day.dayOfMonth), cron.daysOfWeek.has(day.dayOfWeek)];
  return cron.isEitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function onlyNumbers(values: readonly (number | string)[]): number[] | null {
  return values.every((value) => typeof value === 'number') ? [...values] : null;
}
