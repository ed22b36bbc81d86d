import { isRecord } from '../../base/json.ts';

/** Content of a result; MCP requires an object. */
export type Content = Readonly<Record<string, unknown>>;

/** A part of a body's rows. */
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
 * Returns the rows of `lists`, concatenated, from the `skip`th on, as many as fit into `characters` of JSON together
 * with the other content. Returns at least one row, even if it does not fit.
 */
export function takeRows(content: Content, lists: readonly string[], skip: number, characters: number): Window {
  const rows = lists.flatMap((list) => {
    const values = content[list];
    return Array.isArray(values) ? values.map((row: unknown) => ({ list, row })) : [];
  });
  const skipped = Math.min(skip, rows.length);
  let left = characters - JSON.stringify(withRows(content, lists, [])).length;
  let shown = 0;
  for (const { row } of rows.slice(skipped)) {
    left -= JSON.stringify(row).length + 1;
    if (left < 0 && shown > 0) break;
    shown += 1;
  }
  const taken = rows.slice(skipped, skipped + shown);
  return { content: withRows(content, lists, taken), total: rows.length, skipped, shown };
}

function withRows(
  content: Content,
  lists: readonly string[],
  rows: readonly { list: string; row: unknown }[],
): Content {
  const filled = lists.flatMap((list) =>
    Array.isArray(content[list]) ? [[list, rows.filter((row) => row.list === list).map(({ row }) => row)]] : [],
  );
  return { ...content, ...Object.fromEntries(filled) };
}
