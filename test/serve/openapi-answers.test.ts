import formats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { conventionsOf } from '../metrics/workspace.ts';
import { type Mirror, type MirrorOptions, openMirror } from '../read/mirror.ts';
import { questions, readVocabulary } from '../read/questions.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { openServer, serverBefore, type TestServer } from './http/support.ts';
import { startIncompleteUpstream } from './incomplete-upstream.ts';
import { compareAll, connectTo, toolClient } from './mcp/support.ts';

const QUESTIONS = countOf(20, 200);

const world = serverBefore();

// oxlint-disable-next-line typescript/no-explicit-any -- documents and bodies are judged by schemas, not by types
type Json = any;

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);

const TINY = { brands: 1, prompts: 2, days: 2 };

const workspaces: readonly [string, MirrorOptions][] = [
  ['default choices', { world: 'tiny' }],
  [
    'bare lists of strings, unknown fields, wrapped objects, amounts as text, another row-mode parameter',
    {
      ...TINY,
      choices: {
        listEnvelope: 'bare',
        engineItems: 'strings',
        rowModeParameter: 'rows',
        combinedEngine: 'absent',
        credits: 'nested',
        extraFields: true,
        timestamps: 'seconds',
        revenue: 'text',
        wrapObjects: true,
      },
    },
  ],
  [
    'nulls for empty values, ungrouped rows, credits as a number',
    {
      ...TINY,
      choices: { emptyShare: null, emptyDays: 'zero', ungrouped: 'null', credits: 'number', decimals: 'none' },
    },
  ],
  ['no responses', { ...TINY, prompts: 0 }],
  ['no brands', { ...TINY, brands: 0 }],
];

test.each(sampleOf(workspaces, 3))(
  'a workspace with %s returns responses that match the served OpenAPI document',
  async (_, options) => {
    const conventions = conventionsOf(options.choices ?? {});
    const mirror = await openMirror({ ...options, conventions });
    await (options.world === undefined ? mirror.publish() : mirror.publishOnly());
    const server = await serve(mirror);
    const { get, document } = server;
    const judge = createJudge(document, options.choices?.extraFields !== true);
    const vocabulary = await readVocabulary(mirror);
    const ofBrands = Object.keys(document.paths).filter((path) => path.includes('{') && !path.startsWith('/snapshots'));
    const paths = [
      ...['/engines', '/credits', '/brands'],
      ...vocabulary.brands.flatMap(({ id, ids }) =>
        ofBrands.map((path) => path.replace('{brandId}', id).replace('{articleId}', ids['articles']?.[0] ?? id)),
      ),
      ...(vocabulary.brands.length === 0 ? [] : fc.sample(questions(vocabulary), { numRuns: QUESTIONS, seed: 1 })),
    ];
    const statuses = new Set<number>();
    for (const path of paths) {
      const response = await get(path);
      judge(path, response, await response.json());
      statuses.add(response.status);
    }
    expect([...statuses]).toContain(200);
    if (options.choices === undefined) return;
    // The tools of MCP return the same, whatever the form of upstream's responses is.
    const { client, tools } = await toolClient(await connectTo(server));
    expect(tools.slice(-declarations.length).map(({ name }) => name)).toEqual(declarations.map(({ tool }) => tool));
    for (const tool of tools.slice(-declarations.length)) await compareAll(server, client, tool);
  },
);

test('a mirror of an upstream that omits, nulls, empties and adds fields keeps every promise of its OpenAPI document', async () => {
  const mirror = await openMirror({
    ...{ brands: 4, prompts: 5, days: 2, conventions: conventionsOf({}) },
    between: startIncompleteUpstream,
  });
  const { failures } = await mirror.sync();
  // Upstream counts mentions that it does not send.
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['counts_differ']));
  await mirror.publishOnly();
  const { get, document } = await serve(mirror);
  const judge = createJudge(document, false);
  const nulls = createNullWatch(document);
  const ids = async (path: string): Promise<string[]> =>
    ((await (await get(path)).json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  const brandIds = await ids('/brands');
  const rows = new Map<string, number>();
  for (const { path: template, paging } of declarations) {
    const paths = brandIds.map((brandId) => template.replace('{brandId}', brandId));
    const articles = template.includes('{articleId}')
      ? await Promise.all(brandIds.map((brandId) => ids(`/brands/${brandId}/articles`)))
      : [];
    const full = articles.flatMap((list, index) => list.map((id) => paths[index]?.replace('{articleId}', id) ?? ''));
    for (const path of full.length > 0 ? full : new Set(paths)) {
      let cursor: string | null = null;
      do {
        const query = paging === 'cursor' ? `?limit=100${cursor === null ? '' : `&cursor=${cursor}`}` : '';
        const response = await get(`${path}${query}`);
        const body = (await response.json()) as { data?: unknown[]; nextCursor?: string | null };
        expect([path, response.status]).toEqual([path, 200]);
        judge(path, response, body);
        nulls.watch(template, body);
        rows.set(template, (rows.get(template) ?? 0) + (body.data?.length ?? 1));
        cursor = body.nextCursor ?? null;
      } while (cursor !== null);
    }
  }
  expect([...rows].filter(([, count]) => count === 0)).toEqual([]);
  // A field may be null or missing only where that occurs. Whether a computed share or mean can be null depends on the calibration, and a
  // detail is served as sent but may have the null of its list.
  const others = declarations.filter(({ computes, change }) => computes !== undefined || change.kind === 'detail');
  const paths = others.map(({ path }) => path);
  expect(nulls.neverSeen().filter((at) => !paths.some((path) => at.startsWith(`${path}.`)))).toEqual([]);
});

test('tables are available in every format that the OpenAPI document lists', async () => {
  const { brandId, ...server } = world();
  const { get, document } = await described(server);
  let tables = 0;
  for (const [template, { get: operation, servers }] of Object.entries<Json>(document.paths)) {
    if (template.includes('{articleId}') || servers !== undefined) continue;
    // Without a limit, the formats other than JSON contain complete lists.
    const isPaged = operation.parameters.some(({ name }: Json) => name === 'cursor');
    const path = `${template.replace('{brandId}', brandId)}${isPaged ? '?limit=20' : ''}`;
    const { data } = (await (await get(path)).json()) as { data?: unknown[] };
    const { content, 'x-media-types': rowTypes = {} } = operation.responses[200];
    for (const mediaType of Object.keys({ ...content, ...rowTypes })) {
      const response = await get(path, { headers: { accept: mediaType } });
      expect([path, response.status, mediaTypeOf(response)]).toEqual([path, 200, mediaType]);
      const text = await response.text();
      if (mediaType !== 'text/csv') continue;
      // The sandbox's texts contain line breaks, which are inside quotes.
      const lines = text.replaceAll(/"(?:[^"]|"")*"/g, '').split('\r\n');
      expect([path, lines.length - 2]).toEqual([path, data?.length]);
      tables += 1;
    }
    if (rowTypes['text/csv'] === undefined) {
      expect(mediaTypeOf(await get(path, { headers: { accept: 'text/csv' } }))).toBe('application/json');
    }
  }
  expect(tables).toBeGreaterThan(5);
});

test('responses 304, 400, 401, 404 and 429 match the OpenAPI document', async () => {
  const { get, document, baseUrl } = await described(await openServer(world().copy, { rateLimit: 4 }));
  const judge = createJudge(document, true);
  const first = await get('/brands');
  expect(first.headers.get('x-ratelimit-limit')).toBe('4');
  const unchanged = await get('/brands', { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
  expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
  expectDocumented(unchanged.headers, document.paths['/brands'].get.responses[304].headers);
  const refused: readonly (readonly [number, Response])[] = [
    [401, await fetch(`${baseUrl}/brands`)],
    [400, await get('/brands?colour=red')],
    [404, await get(`/brands/00000000-0000-4000-8000-000000000000`)],
    [429, await get('/brands')],
  ];
  for (const [status, response] of refused) {
    expect(response.status).toBe(status);
    judge(new URL(response.url).pathname.replace('/v1', ''), response, await response.json());
  }
});

/** A server and its document as served. */
async function described(server: TestServer): Promise<TestServer & { readonly document: Json }> {
  const document: Json = await (await fetch(`${server.baseUrl}/openapi.json`)).json();
  expect(document.servers[0].url).toBe(server.baseUrl);
  return { ...server, document };
}

async function serve({ copy, clock }: Mirror) {
  return described(await openServer(copy, { clock }));
}

/** Records which nullable properties have been null in a body. */
interface NullWatch {
  watch(template: string, body: unknown): void;
  /** Returns the paths of the nullable properties that were never null. */
  neverSeen(): string[];
}

function createNullWatch(document: Json): NullWatch {
  const [nullable, seen] = [new Set<string>(), new Set<string>()];
  const visit = (given: Json, value: Json, at: string): void => {
    const schema = lookUp(document, given);
    if (Array.isArray(schema.type) && schema.type.includes('null')) nullable.add(at);
    if (value === null) seen.add(at);
    if (Array.isArray(value)) for (const item of value) visit(schema.items ?? {}, item, `${at}[]`);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, part] of Object.entries<Json>(schema.properties ?? {})) {
        const isOptional = schema.required?.includes(name) === false;
        if (isOptional) nullable.add(`${at}.${name}`);
        if (isOptional && !Object.hasOwn(value, name)) seen.add(`${at}.${name}`);
        visit(part, value[name], `${at}.${name}`);
      }
    }
  };
  return {
    watch: (template, body) => {
      const { schema } = document.paths[template].get.responses[200].content['application/json'];
      visit(schema, body, template);
    },
    neverSeen: () => [...nullable].filter((at) => !seen.has(at)),
  };
}

// Validates responses against the document; in strict mode a response must have no undocumented field.
function createJudge(document: Json, isStrict: boolean): (path: string, response: Response, body: unknown) => void {
  const compiled = new Map<string, ValidateFunction>();
  const checkOf = (key: string, schema: Json): ValidateFunction => {
    const check = compiled.get(key) ?? ajv.compile(resolve(document, schema, isStrict));
    compiled.set(key, check);
    return check;
  };
  return (path, response, body) => {
    const template = templateOf(document, path);
    // A path that the document does not contain must be rejected.
    const responses = document.paths[template]?.get.responses ?? { 404: { $ref: '#/components/responses/NotFound' } };
    const described = lookUp(document, responses[response.status]);
    expect([path, response.status, described !== undefined]).toEqual([path, response.status, true]);
    const { schema } = described.content[mediaTypeOf(response)];
    const check = checkOf(`${template} ${response.status}`, schema);
    expect([path, check(body) ? null : check.errors]).toEqual([path, null]);
    expectDocumented(response.headers, described.headers);
  };
}

// Standard HTTP headers need not be documented.
function expectDocumented(given: Headers, described: Json): void {
  const known = Object.keys(described).map((name) => name.toLowerCase());
  const own = [...given.keys()].filter((name) => name.startsWith('x-') || name === 'etag' || name === 'retry-after');
  expect(known).toEqual(expect.arrayContaining(own));
}

function templateOf(document: Json, path: string): string {
  const bare = path.split('?')[0] as string;
  const templates = Object.keys(document.paths);
  const matches = (template: string): boolean => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(bare);
  return templates.find(matches) ?? bare;
}

function lookUp(document: Json, value: Json): Json {
  const name: string | undefined = value?.$ref;
  if (name === undefined) return value;
  return name
    .split('/')
    .slice(1)
    .reduce((at, step) => at[step], document);
}

// Resolves references; in strict mode disallows additional fields.
function resolve(document: Json, given: Json, isStrict: boolean): Json {
  if (Array.isArray(given)) return given.map((part) => resolve(document, part, isStrict));
  if (typeof given !== 'object' || given === null) return given;
  const schema = Object.entries(lookUp(document, given));
  const resolved = Object.fromEntries(schema.map(([name, part]) => [name, resolve(document, part, isStrict)]));
  return isStrict && resolved['properties'] !== undefined ? { ...resolved, additionalProperties: false } : resolved;
}

function mediaTypeOf(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';')[0] as string;
}
