import type { Client } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Resource } from '../../../src/contract/catalogue.ts';
import { servedName } from '../../../src/contract/query-parameters.ts';
import { RESULT_TOKENS } from '../../../src/serve/mcp/endpoints/tool-input.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { openMirror } from '../../query/mirror.ts';
import { questions, readVocabulary } from '../../query/questions.ts';
import { call, type Endpoint, startEndpoint, toContent } from './support.ts';

const QUESTIONS = 200;

/** A result with fewer tokens than this is never shortened; 500 of the limit are reserved for the note. */
const NEVER_LONG = (RESULT_TOKENS.standard - 500) * 0.9;

it('MCP tools return the same results and errors as REST for any request', async () => {
  const mirror = await openMirror({ seed: 5, choices: { rowModeParameter: 'rows', extraFields: true } });
  await mirror.publish();
  const endpoint = await startEndpoint(mirror.service);
  const client = await endpoint.connect();
  const vocabulary = await readVocabulary(mirror);
  const told = { answered: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(questions(vocabulary), async (path) => {
      const isAnswered = await compare(endpoint, client, path, mirror.service);
      told[isAnswered ? 'answered' : 'refused'] += 1;
    }),
    { numRuns: QUESTIONS },
  );
  // Pages of 57 long rows, which random questions seldom ask for.
  for (const { id } of vocabulary.brands)
    await compare(endpoint, client, `/brands/${id}/responses?limit=57`, mirror.service);
  expect(told.answered).toBeGreaterThan(QUESTIONS / 4);
  // About 15 of 200, by chance; no more than this occurs once in tens of thousands of runs.
  expect(told.refused).toBeGreaterThan(QUESTIONS / 100);
});

async function compare(
  endpoint: Endpoint,
  client: Client,
  path: string,
  service: Parameters<typeof startEndpoint>[0],
): Promise<boolean> {
  const { pathname, searchParams } = new URL(path, 'http://rest.invalid');
  const { resource, values } = routeOf(service.catalogue.resources, pathname);
  for (const [name, text] of searchParams) values[name] = typed(resource, name, text, service.namesOf(resource));
  const rest = await endpoint.rest(path);
  const { isError, text, remarks, content, note, shown } = await call(client, resource.tool, values);
  if (!isError) expect(estimateTokens(JSON.stringify(shown))).toBeLessThanOrEqual(RESULT_TOKENS.standard);
  const endsEarly = /^The page ends after \d+ rows/m.test(remarks);
  expect({ path, isError }).toEqual({ path, isError: rest.status !== 200 });
  if (isError) {
    expect(text).toContain(`${rest.body.error.code}: ${rest.body.error.message}\n`);
    expect(content).toBeUndefined();
  } else if (note.omitted !== undefined) {
    expect(estimateTokens(JSON.stringify(rest.body))).toBeGreaterThan(NEVER_LONG);
    expect(Object.keys(content)).toEqual(Object.keys(toContent(rest.body) as object));
  } else if (endsEarly) {
    // A page of REST that is too long for a result of MCP arrives as several pages.
    expect(estimateTokens(JSON.stringify(rest.body))).toBeGreaterThan(NEVER_LONG);
    const { data } = rest.body;
    expect(await readRows(client, resource, values, data.length)).toEqual(data);
  } else {
    expect(content).toEqual(toContent(rest.body));
  }
  return !isError;
}

// Follows the cursors of a tool until at least `count` rows are read, and returns the first `count`.
async function readRows(
  client: Client,
  { tool, query }: Resource,
  values: Readonly<Record<string, string | number | boolean>>,
  count: number,
): Promise<unknown[]> {
  const [cursor] = Object.entries(query).find(([, { kind }]) => kind === 'cursor') as [string, unknown];
  const rows: unknown[] = [];
  let at = {};
  while (rows.length < count) {
    const { content } = await call(client, tool, { ...values, ...at });
    expect(content.data.length).toBeGreaterThan(0);
    rows.push(...content.data);
    at = { [cursor]: content.nextCursor };
  }
  return rows.slice(0, count);
}

// Sends values as a client that follows the input schema would.
function typed(
  { query }: Resource,
  name: string,
  text: string,
  names: Readonly<Record<string, string>>,
): string | number | boolean {
  const found = Object.entries(query).find(([declared, parameter]) => servedName(declared, parameter, names) === name);
  const kind = found?.[1].kind;
  if (kind === 'limit' && /^-?\d+$/.test(text)) return Number(text);
  return kind === 'flag' && /^(true|false)$/.test(text) ? text === 'true' : text;
}

function routeOf(
  resources: readonly Resource[],
  pathname: string,
): { resource: Resource; values: Record<string, string | number | boolean> } {
  for (const resource of resources) {
    const names = [...resource.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
    const match = new RegExp(`^${resource.path.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname);
    if (match === null) continue;
    return { resource, values: Object.fromEntries(names.map((name, index) => [name, match[index + 1] as string])) };
  }
  throw new Error(`no route ${pathname}`);
}
