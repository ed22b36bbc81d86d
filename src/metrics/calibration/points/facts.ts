import { isRecord } from '../../../base/json.ts';
import { toNumber } from '../../../contract/value-forms.ts';
import type { Compared, Facts, ReportQuestion } from './point.ts';

/** Resources with numbers of responses; those with share of voice. */
export const NUMBERED = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];
export const WITH_VOICE = ['metrics', 'metrics_daily', 'metrics_groups'];

/** Fields that identify the rows of reports. */
export const ENTITY = ['entityType', 'competitorId'] as const;
export const DAY_ROW = ['date', 'engine', 'competitorId'] as const;
export const PROMPT = ['promptId'] as const;
export const GROUP = ['groupId'] as const;

const KEYS: Readonly<Record<string, readonly string[]>> = {
  metrics: ENTITY,
  metrics_daily: DAY_ROW,
  metrics_prompts: PROMPT,
  metrics_groups: GROUP,
  cited_domains: ['domain'],
};

/** Returns the rows of a report; none if the body has no list `data`. */
export function rowsOf({ body }: Compared): Record<string, unknown>[] {
  const rows = isRecord(body) ? body['data'] : null;
  return Array.isArray(rows) ? rows.filter(isRecord) : [];
}

/** Returns the identity of a row: its fields, ids in lower case. */
export function identityOf(row: Record<string, unknown>, fields: readonly string[]): string {
  return fields.map((field) => textOf(row[field])).join(' ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : String(value ?? null);
}

/** Returns a field's values by row. */
export function valuesOf(response: Compared, key: readonly string[], field: string): Facts {
  return { kind: 'values', values: new Map(rowsOf(response).map((row) => [identityOf(row, key), row[field] ?? null])) };
}

/** Returns a field's values by row of one of the reports about responses. */
export function fieldValues(response: Compared, { resource }: ReportQuestion, field: string): Facts {
  return valuesOf(response, KEYS[resource] ?? [], field);
}

const COUNTS = ['responses', 'mentions', 'citations'];

/** Returns a field's numbers by row and its counts, because numbers of other counts cannot be compared. Leaves out rows without a number. */
export function numbersOf(response: Compared, { resource }: ReportQuestion, field: string): Facts {
  const beside = isRecord(response.body) ? String(response.body['responses']) : '';
  const values = new Map<string, number>();
  for (const row of rowsOf(response)) {
    const value = asNumber(row[field]);
    if (typeof value !== 'number') continue;
    values.set(`${identityOf(row, [...(KEYS[resource] ?? []), ...COUNTS])} ${beside}`, value);
  }
  return { kind: 'values', values };
}

/** Returns a number that upstream may write as a text; other values as they are. */
export function asNumber(value: unknown): unknown {
  return typeof value === 'string' ? (toNumber(value) ?? value) : value;
}

/** Returns the totals of a report of visits. */
export function totalsOf({ body }: Compared): Record<string, unknown> {
  const totals = isRecord(body) ? body['totals'] : null;
  return isRecord(totals) ? totals : {};
}

/** Returns the rows that a report has. */
export function membersOf(response: Compared, key: readonly string[]): Facts {
  return { kind: 'set', members: new Set(rowsOf(response).map((row) => identityOf(row, key))) };
}

/** Returns the order of a report's rows. */
export function orderOf(response: Compared, key: readonly string[]): Facts {
  return { kind: 'order', members: rowsOf(response).map((row) => identityOf(row, key)) };
}
