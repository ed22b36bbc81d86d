import { isDeepStrictEqual } from 'node:util';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import { brandOf, type Full, type Item, isWithin, listed, type Step, type Written } from './notes.ts';

/** Content of a note or of a sum. */
type Content = Readonly<Record<string, unknown>>;

/** A version of a row. Times are in microseconds, as in the warehouse. */
export interface Version {
  readonly from: number;
  to: number | null;
  readonly change: string;
  content: Content;
}

/** A row with its versions. */
export interface Kept {
  content: Content;
  deleted: boolean;
  versions: Version[];
}

interface Row extends Kept {
  /** The latest detail, and whether it belongs to the current content of the list. */
  full: Full | null;
  isDetailed: boolean;
  readonly at: string;
}

/** The rows by resource, brand and id. */
export type Model = Map<string, Row>;

/** Applies a step that was written at a time to the model. */
export function applyStep(model: Model, one: Step, at: number, tables: Catalogue): void {
  const brand = brandOf(one);
  switch (one.kind) {
    case 'list': {
      const { range, pages } = listed(one, tables);
      for (let time = 0; time < (one.again ? 2 : 1); time++) {
        for (const page of pages) {
          // If a page contains a key twice, the last item counts.
          for (const last of new Map(page.map((entry) => [entry.id, entry])).values()) putItem(model, brand, last, at);
        }
        const seen = new Set(pages.flat().map(({ id }) => `notes ${brand} ${id}`));
        const isAsked = (row: Row): boolean => range === null || isWithin(row.at, range);
        if (one.closes) endAbsent(model, `notes ${brand}`, (key, row) => isAsked(row) && !seen.has(key), at);
      }
      return;
    }
    case 'detail':
      putFull(model.get(`notes ${brand} ${one.full.id}`), one.full, at);
      return;
    case 'gone': {
      const row = model.get(`notes ${brand} ${one.id}`);
      if (row !== undefined && !row.deleted) end(row, at);
      return;
    }
    case 'report': {
      const place = `sums ${brand} ${one.day}`;
      const rows = new Map(one.sums.map(({ of, count }) => [`${place} ${of}`, { count }]));
      for (const [key, content] of rows) write(model, key, content, at);
      endAbsent(model, place, (key) => !rows.has(key), at);
    }
  }
}

/** Returns the rows in the form of `rowsOf`. */
export function modelRows(model: Model): ({ readonly key: string } & Kept)[] {
  return [...model]
    .map(([key, { content, deleted, versions }]) => ({ key, content, deleted, versions }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Returns the rows of a warehouse with their versions. */
export async function rowsOf({ query, tables }: Written): Promise<({ readonly key: string } & Kept)[]> {
  const rows = new Map<string, Kept>();
  const listOf = (table: string, column: string): string =>
    `(SELECT CAST(to_json(list([${column}, CAST(ordinal AS VARCHAR)] ORDER BY ordinal)) AS VARCHAR) FROM ${table} c
      WHERE c.brand_id = n.brand_id AND c.note_id = n.id)`;
  const children = (table: string, column: string): string =>
    `CAST(to_json(json_extract(_children, '$.${table}[*].${column}')) AS VARCHAR)`;
  const note = `'notes ' || brand_id || ' ' || id AS key, text, amount, CAST(_extra AS VARCHAR) AS extra,
    CAST(body AS VARCHAR) AS body, strftime(checked_at, '%Y-%m-%dT%H:%M:%SZ') AS checked`;
  const sum = `'sums ' || brand_id || ' ' || range_from || ' ' || coalesce("of", 'null') AS key, count`;
  const deleted = '_deleted_at IS NOT NULL AS deleted';
  const version = 'change, epoch_us(valid_from) AS began, epoch_us(valid_to) AS ended';
  const add = (row: Readonly<Record<string, unknown>>, content: Content): void => {
    rows.set(String(row['key']), { content, deleted: row['deleted'] === true, versions: [] });
  };
  const addVersion = (row: Readonly<Record<string, unknown>>, content: Content): void => {
    const to = row['ended'] === null ? null : Number(row['ended']);
    const one = { from: Number(row['began']), to, change: String(row['change']), content };
    rows.get(String(row['key']))?.versions.push(one);
  };
  for (const row of await query(
    `SELECT ${note}, ${deleted}, ${listOf('note_lines', 'text')} AS lines, ${listOf('note_marks', 'CAST(weight AS VARCHAR)')} AS marks
     FROM notes n ORDER BY key`,
  ))
    add(row, toNote(row, ordered(row['lines']), ordered(row['marks']).map(toNumber)));
  for (const row of await query(
    `SELECT ${note}, ${version}, ${children('note_lines', 'text')} AS lines, ${children('note_marks', 'weight')} AS marks
     FROM notes_history ORDER BY key, began`,
  ))
    addVersion(row, toNote(row, parsed(row['lines']) as unknown[], parsed(row['marks']) as unknown[]));
  if (tables.tables.some(({ name }) => name === 'sums')) {
    const toSum = ({ count }: Readonly<Record<string, unknown>>): Content => ({ count: Number(count) });
    for (const row of await query(`SELECT ${sum}, ${deleted} FROM sums ORDER BY key`)) add(row, toSum(row));
    for (const row of await query(`SELECT ${sum}, ${version} FROM sums_history ORDER BY key, began`))
      addVersion(row, toSum(row));
  }
  return [...rows].map(([key, row]) => ({ key, ...row }));
}

function toNote(row: Readonly<Record<string, unknown>>, lines: readonly unknown[], marks: readonly unknown[]): Content {
  const { text, amount, checked: checkedAt, extra, body } = row;
  return { text, amount, checkedAt, extra: parsed(extra), body: parsed(body), lines, marks };
}

function parsed(json: unknown): unknown {
  return json === null ? null : JSON.parse(String(json));
}

// Values with their ordinals, which must be 0, 1, 2 and so on.
function ordered(json: unknown): unknown[] {
  const pairs = (parsed(json) ?? []) as [value: unknown, ordinal: string][];
  if (pairs.some(([, ordinal], index) => ordinal !== String(index))) throw new Error(`gaps in the order of ${json}`);
  return pairs.map(([value]) => value);
}

function toNumber(value: unknown): number | null {
  return value === null ? null : Number(value);
}

function putItem(model: Model, brand: string, { id, at: time, ...item }: Item, at: number): void {
  const key = `notes ${brand} ${id}`;
  const row = model.get(key);
  const content = {
    text: item.text?.toWellFormed() ?? null,
    // There is no negative zero in JSON.
    amount: item.amount === null ? null : item.amount + 0,
    checkedAt: item.checkedAt,
    extra: item.more === undefined ? null : { more: item.more.toWellFormed() },
    lines: item.lines.map(({ text }) => text?.toWellFormed() ?? null),
    ...contentOf(row?.full ?? null),
  };
  const isRenewed = row !== undefined && (row.deleted || !isDeepStrictEqual(row.content, content));
  const written = write(model, key, content, at, time);
  if (isRenewed) written.isDetailed = false;
}

function contentOf(full: Full | null): Content {
  if (full === null) return { body: null, marks: [] };
  return { body: JSON.parse(JSON.stringify(full.body)), marks: full.marks.map(({ weight }) => weight) };
}

// A detail completes the latest version of the row that it belongs to. A later one is a change.
function putFull(row: Row | undefined, full: Full, at: number): void {
  if (row === undefined) return;
  const isRepeated = row.isDetailed && isDeepStrictEqual(contentOf(row.full), contentOf(full));
  if (isRepeated) return;
  const content = { ...row.content, ...contentOf(full) };
  const isFirst = !row.isDetailed;
  row.isDetailed = true;
  row.full = full;
  if (row.deleted) row.content = content;
  else if (isFirst) {
    row.content = content;
    (row.versions.at(-1) as Version).content = content;
  } else change(row, content, at);
}

function write(model: Model, key: string, content: Content, at: number, time = ''): Row {
  const row = model.get(key);
  if (row !== undefined) {
    change(row, content, at);
    return row;
  }
  const versions = [{ from: at * 1000, to: null, change: 'inserted', content }];
  const fresh = { content, deleted: false, versions, full: null, isDetailed: false, at: time };
  model.set(key, fresh);
  return fresh;
}

function change(row: Row, content: Content, at: number): void {
  const last = row.versions.at(-1) as Version;
  const from = Math.max(at * 1000, last.from + 1);
  if (row.deleted) row.versions.push({ from, to: null, change: 'restored', content });
  // A change of an incidental field starts no version.
  else if (!isDeepStrictEqual({ ...row.content, checkedAt: null }, { ...content, checkedAt: null })) {
    last.to = from;
    row.versions.push({ from, to: null, change: 'updated', content });
  } else last.content = content;
  Object.assign(row, { content, deleted: false });
}

function end(row: Row, at: number): void {
  const last = row.versions.at(-1) as Version;
  last.to = Math.max(at * 1000, last.from + 1);
  row.versions.push({ from: last.to, to: last.to, change: 'deleted', content: last.content });
  row.deleted = true;
}

function endAbsent(model: Model, place: string, isAbsent: (key: string, row: Row) => boolean, at: number): void {
  for (const [key, row] of model) if (key.startsWith(place) && !row.deleted && isAbsent(key, row)) end(row, at);
}
