import { validateDetailed } from 'node-cron';

/** What a cron expression may be, in words. */
export const CRON_ALLOWED =
  'five fields as in crontab(5): minute, hour, day of month, month, day of week, such as "15 2 * * *"';

/** A cron expression, read. */
export interface Cron {
  /** As it was written. */
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** Whether either day field is enough, as crontab(5) has it where both are restricted. */
  readonly isEitherDay: boolean;
  /** Whether every hour is meant, and so both hours of the clock's that come twice. */
  readonly isEveryHour: boolean;
}

/**
 * Reads a cron expression of five fields; returns what is wrong with it in words where it is none, or one for which no day
 * ever comes.
 */
export function parseCron(text: string): Cron | string {
  const written = text.trim().split(/\s+/);
  if (written.length !== 5) return `it has ${written.length === 1 ? '1 field' : `${written.length} fields`}`;
  const { valid, fields, errors } = validateDetailed(written.join(' '));
  const wrong = errors[0];
  if (!valid || fields === undefined) return wrong?.message ?? 'it cannot be read';
  const { minute, hour, month } = fields;
  const [daysOfMonth, daysOfWeek] = [onlyNumbers(fields.dayOfMonth), onlyNumbers(fields.dayOfWeek)];
  if (daysOfMonth === null || daysOfWeek === null) return 'days are written as numbers, names, lists, ranges and steps';
  const isEitherDay = [written[2], written[4]].every((field) => !/^[*?]/.test(field ?? ''));
  const longest = Math.max(...month.map((number) => new Date(Date.UTC(2024, number, 0)).getUTCDate()));
  if (!isEitherDay && Math.min(...daysOfMonth) > longest) return 'no month that it names has such a day';
  return {
    text: written.join(' '),
    minutes: new Set(minute),
    hours: new Set(hour),
    months: new Set(month),
    daysOfMonth: new Set(daysOfMonth),
    // Sunday is 0, and may be written 7.
    daysOfWeek: new Set(daysOfWeek.map((day) => day % 7)),
    isEitherDay,
    isEveryHour: new Set(hour).size === 24,
  };
}

/** Whether a day (of the proleptic calendar, month from 1) is one of the expression's. */
export function matchesDay(cron: Cron, day: { month: number; dayOfMonth: number; dayOfWeek: number }): boolean {
  if (!cron.months.has(day.month)) return false;
  const [ofMonth, ofWeek] = [cron.daysOfMonth.has(day.dayOfMonth), cron.daysOfWeek.has(day.dayOfWeek)];
  return cron.isEitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

function onlyNumbers(values: readonly (number | string)[]): number[] | null {
  return values.every((value) => typeof value === 'number') ? [...values] : null;
}
