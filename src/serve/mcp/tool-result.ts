import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isRecord, memberAt, withMember } from '../../base/json.ts';
import type { Running } from '../../read/service.ts';
import { tokensOfJson } from './estimate-tokens.ts';
import { shorten, shortenTexts } from './shorten.ts';
import { toTable, toTableRow } from './table-form.ts';

/** Member of every result that describes its data. Some clients show only the structured content to a model. */
export const NOTE = '_sightline';

/** Bounds of the estimated tokens of a result. Clients cut or reject results of more than about 25,000 tokens. */
export const RESULT_TOKENS = { least: 1_000, standard: 8_000, most: 20_000 } as const;

/** Tokens reserved for the note of a result. */
const NOTE_TOKENS = 500;
/** Tokens between two rows. */
const SEPARATOR_TOKENS = 1;
/** Tolerance: the estimate of a whole may exceed the sum of the estimates of its parts by this many tokens. */
const SLACK_TOKENS = 8;
/** Maximum attempts to get a page that fits; the last attempt requests one row. */
const PAGE_ATTEMPTS_MAX = 4;

/** Content of a result; MCP requires an object. */
export type Content = Readonly<Record<string, unknown>>;

/**
 * How rows are shown: `columns` are lists of values in the order of columns that the content states, `objects` stay objects, and `shortest`
 * are objects that become tables if that saves tokens.
 */
export type RowForm = 'columns' | 'objects' | 'shortest';

/** The result of a tool before it is cut to size. */
export interface ToolOutput {
  readonly content: Content;
  /** Shorter forms of `content`, the longest first; the first one that fits is used. `omitted` states what it lacks. */
  readonly shorter?: readonly { readonly content: Content; readonly omitted: string }[];
  /** The members with rows, in this order. Rows at the end are omitted if the result would be too long. */
  readonly lists?: readonly string[];
  /** Default: `columns`. */
  readonly form?: RowForm;
  /** Number of rows to leave out at the beginning. */
  readonly skip?: number;
  /** Number of all rows if `lists` have only the first ones; null if it is not known. Default: the rows of `lists`. */
  readonly total?: number | null;
  /** Reads the content with fewer rows, if the next page begins after the last row that is shown. */
  readonly reread?: (rowsMax: number) => Promise<Content>;
  /** Argument that continues with the next page; the content has its value as `nextCursor`. */
  readonly cursor?: string | undefined;
  /** Returns how to get the rows that are omitted. `shown` is the number of rows up to the last one that is shown. */
  readonly next?: (shown: number) => readonly string[];
  /** Address of REST that returns texts in full. */
  readonly address?: string;
  /** Time of the data, ISO 8601; null if they were never read, absent if the result has no data. */
  readonly asOf?: string | null | undefined;
  /** Whether part of the data was not read completely; absent if the result does not depend on it. */
  readonly isPartial?: boolean;
  /** Last day that was read completely; absent if the result does not depend on days. */
  readonly completeTo?: string | null | undefined;
  readonly remarks?: readonly string[];
  /** Content in addition to the structured content, such as an image. */
  readonly more?: readonly ContentBlock[];
}

/** The rows of a content that a result includes. */
export interface Window {
  readonly content: Content;
  /** `total` counts all rows of the content, `skipped` those before the rows that are included. */
  readonly total: number;
  readonly skipped: number;
  readonly shown: number;
}

/**
 * Returns a result as structured content and as JSON text, with at most `tokensMax` estimated tokens. If it would be longer, rows at the end
 * are omitted, and long texts and nested lists are cut. It has at least one row, even if that row is longer. Its member `_sightline`
 * describes the data and what is omitted.
 */
export async function toResult(
  output: ToolOutput,
  tokensMax: number,
  running: Running | null,
): Promise<CallToolResult> {
  const { content, omitted, remarks: own } = await fit(output, tokensMax - NOTE_TOKENS);
  const { asOf, isPartial, completeTo, remarks = [], more = [] } = output;
  const all = [
    ...(isPartial === true ? ['Some data were never read completely: rows may be missing, numbers too low.'] : []),
    ...remarks,
    ...own,
  ];
  const note = {
    ...(asOf === undefined ? {} : { asOf }),
    ...(isPartial === undefined ? {} : { coverage: isPartial ? 'partial' : 'complete' }),
    ...(completeTo === undefined ? {} : { completeTo }),
    // Requests done and expected by the sync that is running.
    ...(running === null ? {} : { progress: `${running.done}/${running.expected}` }),
    ...(omitted.length === 0 ? {} : { omitted: omitted.join(' ') }),
    ...(all.length === 0 ? {} : { remarks: all }),
  };
  const shown = { ...content, [NOTE]: note };
  return { content: [{ type: 'text', text: JSON.stringify(shown) }, ...more], structuredContent: shown };
}

async function fit(output: ToolOutput, tokensMax: number) {
  const { lists = [], form = 'columns', skip = 0, reread } = output;
  const wanted = { skip, tokensMax, form };
  const chosen = chooseForm(output, lists, tokensMax);
  let window = takeRows(chosen.content, lists, wanted);
  let endsEarly = false;
  // The data may change between attempts, so the last attempt requests one row.
  for (
    let attempt = 2;
    reread !== undefined && window.shown < window.total && attempt <= PAGE_ATTEMPTS_MAX;
    attempt++
  ) {
    const rowsMax: number = attempt < PAGE_ATTEMPTS_MAX ? window.shown : 1;
    window = takeRows(await reread(rowsMax), lists, wanted);
    endsEarly = true;
  }
  const omitted = [...chosen.omitted, ...rowsOmitted(output, window)];
  // Lists in rows with stated columns stay whole: a row without its last values would have other columns.
  const isFixed = form === 'columns' && lists.length > 0;
  const cut = isFixed
    ? { ...shortenTexts(window.content, tokensMax), itemsMax: null }
    : shorten(window.content, tokensMax);
  if (cut !== null && (cut.textsCut > 0 || cut.itemsMax !== null)) {
    const items = cut.itemsMax === null ? '' : `, and lists after ${cut.itemsMax} items`;
    const full = output.address === undefined ? '' : `; REST returns them in full at ${output.address}`;
    omitted.push(`Long texts are cut at the marked places${items}, because the result would be too long${full}.`);
  }
  const shown = cut === null ? window.content : (cut.value as Content);
  if (tokensOfJson(shown) > tokensMax)
    omitted.push(
      'The result is longer than its limit, because one row does not fit: request fewer columns or shorter values.',
    );
  return {
    content: shown,
    omitted,
    remarks: rangeRemarks(output, window, endsEarly),
  };
}

// Returns the longest form that fits with one row.
function chooseForm(
  { content, shorter = [] }: ToolOutput,
  lists: readonly string[],
  tokensMax: number,
): { readonly content: Content; readonly omitted: readonly string[] } {
  const forms = [{ content, omitted: [] }, ...shorter.map((one) => ({ ...one, omitted: [one.omitted] }))];
  const fits = (one: Content): boolean =>
    tokensOfJson(withRows(one, lists, rowsOf(one, lists).slice(0, 1))) <= tokensMax;
  return forms.find((one) => fits(one.content)) ?? forms.at(-1) ?? { content, omitted: [] };
}

function rowsOmitted({ total: known, next }: ToolOutput, { total, skipped, shown }: Window): string[] {
  const end = skipped + shown;
  const all = known === undefined ? total : known;
  if (end < total) {
    const left = all === null ? `More than ${total - end}` : `${all - end} of ${all}`;
    const how = next?.(end) ?? ['allow more with max_tokens', 'ask for less'];
    return [`${left} rows are omitted because the result would be too long: ${how.join(', or ')}.`];
  }
  if (all !== null && all <= total) return [];
  return [`These are the first ${total} of ${all ?? 'more'} rows: raise the limit, or ask for less.`];
}

function rangeRemarks({ cursor }: ToolOutput, window: Window, endsEarly: boolean): string[] {
  const { content, skipped, shown, total } = window;
  const remarks: string[] = [];
  if (skipped > 0) {
    remarks.push(
      shown === 0 ? `There are only ${total} rows.` : `Rows ${skipped + 1} to ${skipped + shown} of ${total}.`,
    );
  }
  if (endsEarly) {
    const rows = `${total} ${total === 1 ? 'row' : 'rows'}`;
    remarks.push(`The page ends after ${rows} because it would be too long; no rows are omitted.`);
  }
  if (cursor !== undefined && typeof content['nextCursor'] === 'string') {
    remarks.push(`There are more rows: call again with nextCursor as ${cursor} and all other arguments unchanged.`);
  }
  return remarks;
}

/** Which rows a result should have, and in which form. */
export interface Wanted {
  readonly skip: number;
  /** Maximum number of estimated tokens of the content. */
  readonly tokensMax: number;
  readonly form: RowForm;
}

/**
 * Returns the rows of `lists`, concatenated, from the `skip`th on, as many as fit together with the other content. Returns at
 * least one row, even if it does not fit.
 */
export function takeRows(content: Content, lists: readonly string[], wanted: Wanted): Window {
  if (wanted.form === 'shortest') {
    const taken = take(content, lists, wanted, toTableRow);
    const tables = withTables(taken.content, lists);
    if (tables.saved > 0 && tokensOfJson(tables.content) <= wanted.tokensMax)
      return { ...taken, content: tables.content };
    // Tables would not be shorter, because the rows have different fields or are few.
  }
  return take(content, lists, wanted, (row) => row);
}

interface Row {
  readonly list: string;
  readonly row: unknown;
}

function rowsOf(content: Content, lists: readonly string[]): Row[] {
  return lists.flatMap((list) => {
    const values = memberAt(content, list);
    return Array.isArray(values) ? values.map((row: unknown) => ({ list, row })) : [];
  });
}

function take(
  content: Content,
  lists: readonly string[],
  { skip, tokensMax }: Wanted,
  toForm: (row: unknown) => unknown,
): Window {
  const rows = rowsOf(content, lists);
  const skipped = Math.min(skip, rows.length);
  let left = tokensMax - SLACK_TOKENS - tokensOfJson(withRows(content, lists, []));
  let shown = 0;
  for (const { row } of rows.slice(skipped)) {
    left -= tokensOfJson(toForm(row)) + SEPARATOR_TOKENS;
    if (left < 0 && shown > 0) break;
    shown += 1;
  }
  const taken = rows.slice(skipped, skipped + shown);
  return { content: withRows(content, lists, taken), total: rows.length, skipped, shown };
}

// Replaces each list that is shorter as a table.
function withTables(content: Content, lists: readonly string[]): { content: Content; saved: number } {
  let saved = 0;
  const written = lists.flatMap((list) => {
    const rows = memberAt(content, list);
    const table = Array.isArray(rows) ? toTable(rows) : null;
    const less = table === null ? 0 : tokensOfJson(rows) - tokensOfJson(table);
    if (less <= 0) return [];
    saved += less;
    return [[list, table] as const];
  });
  return { content: withMembers(content, written), saved };
}

function withRows(content: Content, lists: readonly string[], rows: readonly Row[]): Content {
  const filled = lists.flatMap((list) =>
    Array.isArray(memberAt(content, list))
      ? [[list, rows.filter((row) => row.list === list).map(({ row }) => row)] as const]
      : [],
  );
  return withMembers(content, filled);
}

function withMembers(content: Content, members: readonly (readonly [string, unknown])[]): Content {
  return members.reduce<Content>((changed, [path, value]) => withMember(changed, path, value), content);
}

/** Returns a body as an object; other values, such as a bare list, are wrapped in `data`. */
export function toContent(body: unknown): Content {
  return isRecord(body) ? body : { data: body };
}
