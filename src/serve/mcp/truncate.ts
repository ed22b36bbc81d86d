import { isRecord, memberAt, withMember } from '../../base/json.ts';
import { tokensOfJson } from './estimate-tokens.ts';
import { toTable, toTableRow } from './table-form.ts';

/** Tokens between two rows. */
const SEPARATOR_TOKENS = 1;
/** Tolerance: the estimate of a whole may exceed the sum of the estimates of its parts by this many tokens. */
const SLACK_TOKENS = 8;

/** Content of a result; MCP requires an object. */
export type Content = Readonly<Record<string, unknown>>;

/** Which rows a result should have, and in which form. */
export interface Wanted {
  readonly skip: number;
  /** Maximum number of estimated tokens of the content. */
  readonly tokensMax: number;
  /** Whether rows stay objects. Otherwise lists become tables if that saves tokens. */
  readonly isPlain: boolean;
}

/** The rows of a body that a result includes. */
export interface Window {
  readonly content: Content;
  /** `total` counts all rows of the body, `skipped` those before the rows that are included. */
  readonly total: number;
  readonly skipped: number;
  readonly shown: number;
}

/** Returns the body as an object; other values, such as a bare list, are wrapped in `data`. */
export function toContent(body: unknown): Content {
  return isRecord(body) ? body : { data: body };
}

/**
 * Returns the rows of `lists`, concatenated, from the `skip`th on, as many as fit together with the other content. Returns at
 * least one row, even if it does not fit.
 */
export function takeRows(content: Content, lists: readonly string[], wanted: Wanted): Window {
  if (wanted.isPlain) return take(content, lists, wanted, (row) => row);
  const taken = take(content, lists, wanted, toTableRow);
  const tables = withTables(taken.content, lists);
  if (tables.saved > 0 && tokensOfJson(tables.content) <= wanted.tokensMax)
    return { ...taken, content: tables.content };
  // Tables would not be shorter, because the rows have different fields or are few.
  return take(content, lists, wanted, (row) => row);
}

function take(
  content: Content,
  lists: readonly string[],
  { skip, tokensMax }: Wanted,
  toForm: (row: unknown) => unknown,
): Window {
  const rows = lists.flatMap((list) => {
    const values = memberAt(content, list);
    return Array.isArray(values) ? values.map((row: unknown) => ({ list, row })) : [];
  });
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

function withRows(
  content: Content,
  lists: readonly string[],
  rows: readonly { list: string; row: unknown }[],
): Content {
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
