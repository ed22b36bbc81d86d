import type { CallToolResult } from '@modelcontextprotocol/server';
import { withDoubles } from '../../../base/json.ts';
import type { Question, Service } from '../../../query/service.ts';
import { NOTE, noteOf } from '../result-note.ts';
import { type Shortened, shorten } from '../shorten.ts';
import { type Content, takeRows, toContent, type Window } from '../truncate.ts';
import { askByName, unknownIds } from './argument-names.ts';
import type { ToolInput } from './tool-input.ts';
import { listsOf, type Tool } from './tool.ts';

/** Tokens reserved for the note of a result. */
const NOTE_TOKENS = 500;

/** Maximum attempts to get a page that fits; the last attempt requests one row. */
const PAGE_ATTEMPTS_MAX = 4;

/** Options of a call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /** Maximum number of estimated tokens of the result. */
  readonly tokensMax: number;
  /** Sentences about the numbers of the result. */
  readonly numbers: readonly string[];
}

/**
 * Calls a tool and returns the response as structured content and as its JSON text. The content equals the body of the REST response
 * (a body that is a list or value is wrapped in `data`), with lists as tables unless the input is plain. It is shortened if it has more
 * tokens than `tokensMax`. Its member `_sightline` describes the data and what is omitted.
 *
 * @throws SightlineError `invalid_parameter`; also the errors of the service
 */
export async function callTool(
  service: Service,
  tool: Tool,
  given: ToolInput,
  { signal, numbers, ...options }: CallOptions,
): Promise<CallToolResult> {
  const tokensMax = options.tokensMax - NOTE_TOKENS;
  const { question, input } = await askByName(service, tool, given, signal);
  const page = await readUntilItFits(question, input, tokensMax, signal);
  const { content, omitted } = cutToSize(tool, input, page.window, tokensMax);
  const remarks = [...numbers, ...(await unknownIds(service, tool, input, signal)), ...rangeRemarks(tool, page)];
  const note = noteOf(page.question, await service.running(), omitted, remarks);
  const shown = { ...content, [NOTE]: note };
  return { content: [{ type: 'text', text: JSON.stringify(shown) }], structuredContent: shown };
}

/** The part of a response that fits. */
interface Page {
  readonly question: Question;
  readonly window: Window;
  /** Whether the page ends before its limit because it would be too long. */
  readonly endsEarly: boolean;
}

// The next page begins after the last row of a page, so a page that is too long is requested again with fewer rows.
async function readUntilItFits(
  question: Question,
  { skip, isPlain }: ToolInput,
  tokensMax: number,
  signal: AbortSignal,
): Promise<Page> {
  const { resource } = question;
  let rowsMax: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const { body } = await question.answer(signal, rowsMax);
    const lists = Array.isArray(body) ? ['data'] : listsOf(resource);
    const window = takeRows(toContent(withDoubles(body)), lists, { skip, tokensMax, isPlain });
    const isWhole = window.shown === window.total;
    if (resource.paging !== 'cursor' || isWhole || attempt === PAGE_ATTEMPTS_MAX) {
      return { question, window, endsEarly: rowsMax !== undefined };
    }
    // The data may change between attempts, so the last attempt requests one row.
    rowsMax = attempt + 1 < PAGE_ATTEMPTS_MAX ? window.shown : 1;
  }
}

function cutToSize(
  tool: Tool,
  input: ToolInput,
  window: Window,
  tokensMax: number,
): { content: Content; omitted: string[] } {
  const omitted = window.skipped + window.shown < window.total ? [rowsOmitted(tool, window)] : [];
  const cut = shorten(window.content, tokensMax);
  if (cut === null) throw new RangeError(`a result of ${tool.definition.name} cannot be cut to ${tokensMax} tokens`);
  if (cut.textsCut > 0 || cut.itemsMax !== null) omitted.push(detailsOmitted(tool, input, cut));
  return { content: cut.value as Content, omitted };
}

function rowsOmitted({ own, inQuery }: Tool, { total, skipped, shown }: Window): string {
  const left = total - skipped - shown;
  const next = own.includes('skip')
    ? [`call again with skip=${skipped + shown} and all other arguments unchanged`]
    : [];
  if (own.includes('maxTokens')) next.push('allow more with maxTokens');
  const narrowing = inQuery.filter(({ parameter: { kind } }) => kind !== 'limit' && kind !== 'cursor');
  if (narrowing.length > 0) next.push(`ask for less with ${narrowing.map(({ name }) => name).join(', ')}`);
  return `${left} of ${total} rows are omitted because the result would be too long: ${next.join(', or ')}.`;
}

function detailsOmitted({ resource }: Tool, { path }: ToolInput, { itemsMax }: Shortened): string {
  const address = resource.path.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? '');
  const items = itemsMax === null ? '' : `, and lists after ${itemsMax} items`;
  return (
    `Long texts are cut at the marked places${items}, because the result would be too long; ` +
    `REST returns them in full at ${address}.`
  );
}

function rangeRemarks({ inQuery }: Tool, { window, endsEarly }: Page): string[] {
  const { content, skipped, shown, total } = window;
  const remarks: string[] = [];
  if (skipped > 0) {
    remarks.push(
      shown === 0 ? `There are only ${total} rows.` : `Rows ${skipped + 1} to ${skipped + shown} of ${total}.`,
    );
  }
  if (endsEarly)
    remarks.push(
      `The page ends after ${total} ${total === 1 ? 'row' : 'rows'} because it would be too long; no rows are omitted.`,
    );
  const cursor = inQuery.find(({ parameter }) => parameter.kind === 'cursor');
  if (cursor !== undefined && typeof content['nextCursor'] === 'string') {
    remarks.push(
      `There are more rows: call again with nextCursor as ${cursor.name} and all other arguments unchanged.`,
    );
  }
  return remarks;
}
