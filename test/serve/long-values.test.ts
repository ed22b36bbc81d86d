import { readFileSync } from 'node:fs';
import type { Client } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { HTTP_LIMITS } from '../../src/serve/http/http-limits.ts';
import { openMirror } from '../query/mirror.ts';
import { openServer, PAGE_STATUS, type TestServer } from './http/support.ts';
import { connectTo } from './mcp/support.ts';

const PROMPTS = 500;
/** Longest time that one request may hold the event loop. */
const HELD_MS_MAX = 50;
/** A collection of garbage takes long, too, so a longer time counts only if it is seen each time. */
const TRIES = 5;
/** Nearly the longest text of a tool's argument, of a parameter of the data, and of any other parameter. */
const LONGEST = { argument: 19_000, parameters: [3_900, HTTP_LIMITS.urlCharactersMax - 200] };

/** Returns the CPU time of this thread in milliseconds, which other processes do not lengthen; the time on systems without /proc. */
function threadMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** Returns the longest time of this thread in milliseconds between two turns of the event loop while `work` runs. */
async function heldBy(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = threadMs();
  const timer = setInterval(() => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  await work();
  clearInterval(timer);
  return Math.max(longest, threadMs() - last);
}

async function expectBrief(what: string, work: () => Promise<unknown>): Promise<void> {
  const held: number[] = [];
  do held.push(await heldBy(work));
  while (Math.min(...held) > HELD_MS_MAX && held.length < TRIES);
  expect(Math.min(...held), `${what} holds the event loop, in ms`).toBeLessThanOrEqual(HELD_MS_MAX);
}

/** A text of `length` characters that resembles names and prompts. */
const longText = (words: readonly string[], length: number): string =>
  words
    .join(' ')
    .repeat(Math.ceil(length / Math.max(1, words.join(' ').length)))
    .slice(0, length);

interface Document {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly Parameter[] } }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
}

/** Values of required arguments of tools. */
const REQUIRED: Readonly<Record<string, unknown>> = {
  metrics: ['visibility'],
  metric: 'visibility',
  dimension: 'prompt',
  since: '7d',
  sql: 'SELECT 1',
};

/** A JSON Schema of an argument. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

test(`the longest value of any parameter or argument holds the event loop briefly, with ${PROMPTS} prompts`, async () => {
  const mirror = await openMirror({
    ...{ brands: 1, prompts: PROMPTS, days: 1, responsesPerDay: 20 },
    conventions: defaultConventions,
  });
  await mirror.sync({ only: ['brands', 'competitors', 'prompts', 'responses'] });
  await mirror.publishOnly();
  const words = (await mirror.query('SELECT text FROM prompts LIMIT 20')).map(({ text }) => String(text));
  const [brand = {}] = await mirror.query('SELECT CAST(id AS VARCHAR) AS id, name FROM brands');
  const known = { id: String(brand['id']), name: String(brand['name']), words };
  const server = await openServer(mirror.copy, { pages: { status: PAGE_STATUS } });
  await expectBriefRoutes(server, known);
  await expectBriefTools(await connectTo(server), known);
});

interface Known {
  /** Of the brand. */
  readonly id: string;
  readonly name: string;
  readonly words: readonly string[];
}

async function expectBriefRoutes(server: TestServer, { id, words }: Known): Promise<void> {
  const { paths } = (await (await server.get('/openapi.json')).json()) as Document;
  const escaped = encodeURIComponent(longText(words, HTTP_LIMITS.urlCharactersMax));
  const values = LONGEST.parameters.map((length) => escaped.slice(0, length).replace(/%.?$/, ''));
  const statuses = new Map<string, number>();
  const ask = async (path: string, name: string, query: string): Promise<void> => {
    const isBelow = path.startsWith('/data') || path.startsWith('/snapshots');
    const target = path.replace('{brandId}', id).replace(/\{\w+\}/, 'x');
    const url = `${isBelow ? server.origin : server.baseUrl}${target}?${query}`;
    await expectBrief(`${path} ${name}`, async () => {
      const response = await fetch(url, { headers: { 'x-api-key': server.key } });
      statuses.set(`${path} ${name}`, response.status);
      await response.text();
    });
  };
  for (const [path, { get }] of Object.entries(paths)) {
    const parameters = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query');
    for (const { name } of parameters) {
      const others = parameters.filter((other) => other.required === true && other.name !== name);
      const fixed = others.map((other) => `${other.name}=${encodeURIComponent(String(other.example))}&`).join('');
      for (const value of values) await ask(path, name, `${fixed}${name}=${value}`);
    }
  }
  expect(statuses.size).toBeGreaterThan(80);
  // Each value reached the code that reads it.
  expect([...statuses].filter(([, status]) => ![200, 400, 404].includes(status))).toEqual([]);
}

async function expectBriefTools(client: Client, { id, name: brand, words }: Known): Promise<void> {
  const text = longText(words, LONGEST.argument);
  let calls = 0;
  for (const { name, inputSchema } of (await client.listTools()).tools) {
    const { properties = {}, required = [] } = inputSchema as Schema & { readonly required?: readonly string[] };
    const given: Readonly<Record<string, unknown>> = { ...REQUIRED, brandId: id, brand };
    const fixed = Object.fromEntries(required.map((argument) => [argument, given[argument] ?? text]));
    for (const [argument, schema] of Object.entries(properties)) {
      const lists = schema.items === undefined ? [] : [Array.from({ length: 100 }, () => text.slice(0, 190))];
      const members = Object.keys(schema.properties ?? {}).map((member) => ({ [member]: text }));
      for (const value of [text, ...lists, ...members]) {
        const call = { name, arguments: { ...fixed, [argument]: value } };
        await expectBrief(`${name} ${argument}`, () => client.callTool(call));
        calls += 1;
      }
    }
  }
  expect(calls).toBeGreaterThan(80);
}
