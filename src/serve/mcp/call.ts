import type { CallToolResult } from '@modelcontextprotocol/server';
import { withDoubles } from '../../base/json.ts';
import type { Question, Service } from '../service.ts';
import { type Content, takeRows, toContent, type Window } from './fit.ts';
import { readInput, type ToolInput } from './input.ts';
import { type Shortened, shorten } from './shorten.ts';
import { listsOf, OMITTED, type Tool } from './tool.ts';

/** JSON characters of a result: clients cut at about 25,000 tokens, and ids make for short ones. */
export const RESULT_CHARACTERS_MAX = 60_000;

/** Of these, kept for what is said about what was left out. */
const REMARK_CHARACTERS = 1_000;

/** Times a page is asked for again because it was too long; the last time it is one row. */
const PAGE_ATTEMPTS_MAX = 4;

/** Names under which a result's `_meta` tells how fresh the data are, in the words of the REST headers. */
const META = { asOf: 'sightline/data-as-of', coverage: 'sightline/data-coverage' } as const;

/**
 * Asks what the tool's arguments ask, and gives the answer as text and as structured content, equal to REST's body (a
 * bare list or value stands under `data`) unless it is longer than `charactersMax`. Throws what the service throws, and
 * `invalid_parameter`.
 */
export async function callTool(
  service: Service,
  tool: Tool,
  values: Readonly<Record<string, unknown>>,
  options: CallOptions,
): Promise<CallToolResult> {
  const input = readInput(tool, values);
  const charactersMax = options.charactersMax - REMARK_CHARACTERS;
  const page = await askUntilItFits(service, tool, input, { ...options, charactersMax });
  const { content, omitted } = cutToSize(tool, input, page.window, charactersMax);
  const remarks = [...freshnessRemarks(page.question), ...rangeRemarks(tool, page), ...omitted];
  const shown = omitted.length === 0 ? content : { ...content, [OMITTED]: omitted.join(' ') };
  return {
    content: [
      { type: 'text', text: JSON.stringify(shown) },
      { type: 'text', text: remarks.join('\n') },
    ],
    structuredContent: shown,
    _meta: metaOf(page.question),
  };
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly charactersMax: number;
}

/** An answer, as far as it fits. */
interface Page {
  readonly question: Question;
  readonly window: Window;
  /** Whether it ends before its limit, because it would be too long. */
  readonly endsEarly: boolean;
}

// A page must end where its cursor goes on, so one that is too long is asked for again, shorter.
async function askUntilItFits(
  service: Service,
  { resource }: Tool,
  { path, given, skip }: ToolInput,
  { signal, charactersMax }: CallOptions,
): Promise<Page> {
  const question = await service.ask(resource, path, given);
  let rowsMax: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const { body } = await question.answer(signal, rowsMax);
    const lists = Array.isArray(body) ? ['data'] : listsOf(resource);
    const window = takeRows(toContent(withDoubles(body)), lists, skip, charactersMax);
    const isWhole = window.shown === window.total;
    if (resource.paging !== 'cursor' || isWhole || attempt === PAGE_ATTEMPTS_MAX) {
      return { question, window, endsEarly: rowsMax !== undefined };
    }
    // What is read may change between the attempts, but a page of one row ends them.
    rowsMax = attempt + 1 < PAGE_ATTEMPTS_MAX ? window.shown : 1;
  }
}

function cutToSize(
  tool: Tool,
  input: ToolInput,
  window: Window,
  charactersMax: number,
): { content: Content; omitted: string[] } {
  const omitted = window.skipped + window.shown < window.total ? [rowsOmitted(tool, window)] : [];
  const cut = shorten(window.content, charactersMax);
  if (cut === null) throw new RangeError(`an answer of ${tool.definition.name} cannot be cut to ${charactersMax}`);
  if (cut.textsCut > 0 || cut.itemsMax !== null) omitted.push(detailsOmitted(tool, input, cut));
  return { content: cut.value as Content, omitted };
}

function rowsOmitted({ skipName, inQuery }: Tool, { total, skipped, shown }: Window): string {
  const left = total - skipped - shown;
  const next = skipName === null ? [] : [`call again with ${skipName}=${skipped + shown} and all else as it was`];
  const narrowing = inQuery.filter(({ parameter: { kind } }) => kind !== 'limit' && kind !== 'cursor');
  if (narrowing.length > 0) next.push(`ask for less with ${narrowing.map(({ name }) => name).join(', ')}`);
  return `${left} of ${total} rows are left out, because the answer would be too long: ${next.join(', or ')}.`;
}

function detailsOmitted({ resource }: Tool, { path }: ToolInput, { itemsMax }: Shortened): string {
  const address = resource.path.replace(/\{(\w+)\}/g, (_, name: string) => path[name] ?? '');
  const items = itemsMax === null ? '' : `, and lists after ${itemsMax} items`;
  return (
    `Long texts are cut where they say so${items}, because the answer would be too long; ` +
    `REST has them whole, at ${address}.`
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
  if (endsEarly) remarks.push(`The page ends after ${total} rows, because it would be too long; none is left out.`);
  const cursor = inQuery.find(({ parameter }) => parameter.kind === 'cursor');
  if (cursor !== undefined && typeof content['nextCursor'] === 'string') {
    remarks.push(`There are more rows: call again with nextCursor as ${cursor.name} and all else as it was.`);
  }
  return remarks;
}

function freshnessRemarks({ asOf, partial }: Question): string[] {
  const known = `X-Data-As-Of: ${asOf === null ? 'never, nothing was read yet' : toIso(asOf)}`;
  if (!partial) return [known];
  return [known, 'X-Data-Coverage: partial, so rows may be missing and numbers too low: a part was never read whole.'];
}

function metaOf({ asOf, partial }: Question): Record<string, string> {
  return {
    ...(asOf === null ? {} : { [META.asOf]: toIso(asOf) }),
    ...(partial ? { [META.coverage]: 'partial' } : {}),
  };
}

function toIso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
