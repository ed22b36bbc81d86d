import type { CallToolResult } from '@modelcontextprotocol/server';
import type { JsonSchema } from '../../contract/json-schema.ts';
import type { DataTool, ToolContext, ToolOutput } from './data-tool.ts';
import { tokensOfJson } from './estimate-tokens.ts';
import { NOTE } from './result-note.ts';
import { shorten, shortenTexts } from './shorten.ts';

/** Tokens between two rows. */
const SEPARATOR_TOKENS = 1;
/** Tokens reserved for the note of a result. */
const NOTE_TOKENS = 200;

/** Returns the JSON Schema of a tool's result. */
export function outputSchemaOf({ results }: DataTool): JsonSchema {
  return { type: 'object', properties: Object.fromEntries([...results, NOTE].map((name) => [name, {}])) };
}

/**
 * Calls a tool and returns its result as structured content and as JSON text, with at most `tokensMax` estimated tokens. If the result
 * would be longer, rows at the end of its list are omitted, and long texts are cut; `_sightline.omitted` states this. A result has at
 * least one row, even if that row is longer.
 */
export async function callDataTool(
  tool: DataTool,
  context: ToolContext,
  given: URLSearchParams,
  tokensMax: number,
): Promise<CallToolResult> {
  const output = await tool.run(context, given);
  const running = await context.workspace.service.running();
  const { content, omitted } = cutToSize(output, tokensMax - NOTE_TOKENS);
  const { asOf, isPartial, completeTo, remarks = [], more = [] } = output;
  const all = [
    ...(isPartial === true ? ['Days of the range were not read completely: numbers may be too low.'] : []),
    ...remarks,
  ];
  const note = {
    ...(asOf === undefined ? {} : { asOf }),
    ...(isPartial === undefined ? {} : { coverage: isPartial ? 'partial' : 'complete' }),
    ...(completeTo === undefined ? {} : { completeTo }),
    ...(running === null ? {} : { progress: `${running.done}/${running.expected}` }),
    ...(omitted.length === 0 ? {} : { omitted: omitted.join(' ') }),
    ...(all.length === 0 ? {} : { remarks: all }),
  };
  const shown = { ...content, [NOTE]: note };
  return { content: [{ type: 'text', text: JSON.stringify(shown) }, ...more], structuredContent: shown };
}

function cutToSize(output: ToolOutput, tokensMax: number): { content: Record<string, unknown>; omitted: string[] } {
  const { list, total } = output;
  const sizeOf = (content: object): number =>
    tokensOfJson(list === undefined ? content : { ...content, [list.name]: list.rows.slice(0, 1) });
  const fits = sizeOf(output.content) <= tokensMax;
  const shorter = fits
    ? undefined
    : (output.shorter?.find(({ content }) => sizeOf(content) <= tokensMax) ?? output.shorter?.at(-1));
  const { content } = shorter ?? output;
  const omitted = shorter === undefined ? [] : [shorter.omitted];
  let whole: Record<string, unknown> = { ...content };
  if (list !== undefined) {
    const { name, rows } = list;
    const shown = rowsThatFit(rows, tokensMax - tokensOfJson({ ...content, [name]: [] }));
    whole = { ...content, [name]: rows.slice(0, shown) };
    const all = total === undefined ? rows.length : total;
    if (shown < rows.length) {
      const of = all === null ? `more than ${rows.length}` : all;
      omitted.push(`Only the first ${shown} of ${of} rows fit: allow more with max_tokens, or ask for less.`);
    } else if (all === null || all > rows.length) {
      omitted.push(`These are the first ${rows.length} of ${all ?? 'more'} rows: raise the limit, or ask for less.`);
    }
  }
  // Lists in rows stay whole: a row without its last values would have other columns than it states.
  const cut = list === undefined ? shorten(whole, tokensMax) : { ...shortenTexts(whole, tokensMax), itemsMax: null };
  if (cut === null) return { content: whole, omitted };
  if (cut.textsCut > 0) omitted.push('Long texts are cut at the marked places.');
  if (cut.itemsMax !== null) omitted.push(`Inner lists end after ${cut.itemsMax} items.`);
  return { content: cut.value as Record<string, unknown>, omitted };
}

// Returns at least 1 if there are rows. If the first row does not fit, its texts are cut later.
function rowsThatFit(rows: readonly unknown[], tokensMax: number): number {
  let left = tokensMax;
  let shown = 0;
  for (const row of rows) {
    left -= tokensOfJson(row) + SEPARATOR_TOKENS;
    if (left < 0 && shown > 0) break;
    shown += 1;
  }
  return shown;
}
