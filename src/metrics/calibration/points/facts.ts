import { isRecord } from '../../../base/json.ts';
import { toNumber } from '../../../contract/value-forms.ts';
import type { Compared, Facts, ReadFacts, ReportQuestion } from './point.ts';

type Row = Readonly<Record<string, unknown>>;

/** Fields that identify the rows of reports. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  metrics: ['competitorId'],
  metrics_daily: ['date', 'engine', 'competitorId'],
  metrics_prompts: ['promptId'],
  metrics_groups: ['groupId'],
  cited_domains: ['domain'],
  cited_urls: ['url'],
  traffic: ['date', 'source'],
};

/** Counts of the rows. Numbers of other counts cannot be compared. */
const COUNTS = ['responses', 'mentions', 'citations', 'aiSessions', 'siteSessions'];

/** Returns the rows of a report; none if the body has no list `data`. */
export function rowsOf({ body }: Pick<Compared, 'body'>): Record<string, unknown>[] {
  const rows = isRecord(body) ? body['data'] : null;
  return Array.isArray(rows) ? rows.filter(isRecord) : [];
}

/** Whether a question is about daily rows that combine all engines. */
export function isCombined({ query }: ReportQuestion): boolean {
  return query['breakdown'] === 'none';
}

/** Returns the identity of a row: its fields, ids in lower case. */
export function identityOf(row: Row, fields: readonly string[]): string {
  return fields.map((field) => textOf(row[field])).join(' ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : String(value ?? null);
}

// The name of the combined engine is a convention of its own.
function keyOf(question: ReportQuestion): readonly string[] {
  const key = KEYS[question.resource] ?? [];
  return isCombined(question) ? key.filter((field) => field !== 'engine') : key;
}

// Returns the rows that have numbers: one row of totals for traffic, the rows with the number of responses for `metrics`.
function numberedRows(response: Compared, { resource }: ReportQuestion): readonly Row[] {
  const body = isRecord(response.body) ? response.body : {};
  if (resource === 'traffic') return isRecord(body['totals']) ? [body['totals']] : [];
  const rows = rowsOf(response);
  return resource === 'metrics' ? rows.map((row) => ({ ...row, responses: body['responses'] })) : rows;
}

/** Reads the rows that a report has, each with the values of some fields. */
export function members(...fields: readonly string[]): ReadFacts {
  return (response, question) => {
    const key = [...keyOf(question), ...fields];
    return { kind: 'set', members: new Set(rowsOf(response).map((row) => identityOf(row, key))) };
  };
}

/** Reads the order of the rows. */
export function order(response: Compared, question: ReportQuestion): Facts {
  const key = keyOf(question);
  return { kind: 'order', members: rowsOf(response).map((row) => identityOf(row, key)) };
}

/** Reads the values of some fields by row. */
export function values(...fields: readonly string[]): ReadFacts {
  return (response, question) => {
    const key = keyOf(question);
    const found = numberedRows(response, question).flatMap((row) => {
      const identity = identityOf(row, key);
      return fields.map((field): [string, unknown] => [`${field} ${identity}`, row[field] ?? null]);
    });
    return { kind: 'values', values: new Map(found) };
  };
}

/** Reads the numbers of a field by row and its counts. Leaves out rows without a number. */
export function numbers(field: string): ReadFacts {
  return (response, question) => {
    const key = [...keyOf(question), ...COUNTS];
    const found = numberedRows(response, question).flatMap((row): [string, number][] => {
      const value = asNumber(row[field]);
      return typeof value === 'number' ? [[identityOf(row, key), value]] : [];
    });
    return { kind: 'values', values: new Map(found) };
  };
}

/** Reads something about the top competitors of each prompt. Lists of other numbers of responses cannot be compared. */
export function topCompetitors(read: (rivals: readonly Row[]) => unknown): ReadFacts {
  return (response) => {
    const found = rowsOf(response).map((row): [string, unknown] => {
      const rivals = Array.isArray(row['topCompetitors']) ? row['topCompetitors'].filter(isRecord) : [];
      return [identityOf(row, ['promptId', 'responses']), read(rivals)];
    });
    return { kind: 'values', values: new Map(found) };
  };
}

/** Returns a number that upstream may write as a text; other values as they are. */
export function asNumber(value: unknown): unknown {
  return typeof value === 'string' ? (toNumber(value) ?? value) : value;
}
