import type { CallToolResult } from '@modelcontextprotocol/server';
import { withDoubles } from '../../base/json.ts';
import type { Question, Running, Service } from '../../query/service.ts';
import { askByName } from './argument-names.ts';
import { type Shortened, shorten } from './shorten.ts';
import { listsOf, OMITTED, type Tool } from './tool.ts';
import { readInput, type ToolInput } from './tool-input.ts';
import { type Content, takeRows, toContent, type Window } from './truncate.ts';

/** Maximum JSON characters of a result. Clients cut results at about 25,000 tokens, and ids take many tokens. */
export const RESULT_CHARACTERS_MAX = 60_000;

/** Characters reserved for remarks about omissions. */
const REMARK_CHARACTERS = 1_000;

/** Maximum attempts to get a page that fits; the last attempt requests one row. */
const PAGE_ATTEMPTS_MAX = 4;

/** Names in a result's `_meta` that report the freshness of the data, like the REST headers. */
const META = {
  asOf: 'sightline/data-as-of',
  coverage: 'sightline/data-coverage',
  progress: 'sightline/sync-progress',
} as const;

/**
 * Calls a tool and returns the response as text and as structured content. The content equals REST's body (a bare list
 * or value is wrapped in `data`), shortened if it is longer than `charactersMax`.
 *
 * @throws SightlineError `invalid_parameter`; also whatever the service throws
 */
export async function callTool(
  service: Service,
  tool: Tool,
  values: Readonly<Record<string, unknown>>,
  options: CallOptions,
): Promise<CallToolResult> {
  const charactersMax = options.charactersMax - REMARK_CHARACTERS;
  const { question, input } = await askByName(service, tool, readInput(tool, values), options.signal);
  const page = await readUntilItFits(question, input.skip, { ...options, charactersMax });
  const { content, omitted } = cutToSize(tool, input, page.window, charactersMax);
  const running = await service.running();
  const remarks = [...freshnessRemarks(page.question, running), ...rangeRemarks(tool, page), ...omitted];
  const shown = omitted.length === 0 ? content : { ...content, [OMITTED]: omitted.join(' ') };
  return {
    content: [
      { type: 'text', text: JSON.stringify(shown) },
      { type: 'text', text: remarks.join('\n') },
    ],
    structuredContent: shown,
    _meta: metaOf(page.question, running),
  };
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly charactersMax: number;
}

/** The part of a response that fits. */
interface Page {
  readonly question: Question;
  readonly window: Window;
  /** Whether the page ends before its limit because it would be too long. */
  readonly endsEarly: boolean;
}

// A page must end at the position of its cursor, so a page that is too long is requested again with fewer rows.
async function readUntilItFits(
  question: Question,
  skip: number,
  { signal, charactersMax }: CallOptions,
): Promise<Page> {
  const { resource } = question;
  let rowsMax: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const { body } = await question.answer(signal, rowsMax);
    const lists = Array.isArray(body) ? ['data'] : listsOf(resource);
    const window = takeRows(toContent(withDoubles(body)), lists, skip, charactersMax);
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
  charactersMax: number,
): { content: Content; omitted: string[] } {
  const omitted = window.skipped + window.shown < window.total ? [rowsOmitted(tool, window)] : [];
  const cut = shorten(window.content, charactersMax);
  if (cut === null)
    throw new RangeError(`a result of ${tool.definition.name} cannot be cut to ${charactersMax} characters`);
  if (cut.textsCut > 0 || cut.itemsMax !== null) omitted.push(detailsOmitted(tool, input, cut));
  return { content: cut.value as Content, omitted };
}

function rowsOmitted({ skipName, inQuery }: Tool, { total, skipped, shown }: Window): string {
  const left = total - skipped - shown;
  const next =
    skipName === null ? [] : [`call again with ${skipName}=${skipped + shown} and all other arguments unchanged`];
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
  if (endsEarly) remarks.push(`The page ends after ${total} rows because it would be too long; no rows are omitted.`);
  const cursor = inQuery.find(({ parameter }) => parameter.kind === 'cursor');
  if (cursor !== undefined && typeof content['nextCursor'] === 'string') {
    remarks.push(
      `There are more rows: call again with nextCursor as ${cursor.name} and all other arguments unchanged.`,
    );
  }
  return remarks;
}

function freshnessRemarks({ asOf, partial }: Question, running: Running | null): string[] {
  const known = [`X-Data-As-Of: ${asOf === null ? 'never, not synced yet' : toIso(asOf)}`];
  if (running !== null)
    known.push(`X-Sync-Progress: ${running.done}/${running.expected}. A sync is running and will bring newer data.`);
  if (!partial) return known;
  return [
    ...known,
    'X-Data-Coverage: partial. Some data were never read completely: rows may be missing, numbers too low.',
  ];
}

function metaOf({ asOf, partial }: Question, running: Running | null): Record<string, string> {
  return {
    ...(asOf === null ? {} : { [META.asOf]: toIso(asOf) }),
    ...(partial ? { [META.coverage]: 'partial' } : {}),
    ...(running === null ? {} : { [META.progress]: `${running.done}/${running.expected}` }),
  };
}

function toIso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
