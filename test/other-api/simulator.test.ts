import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect, onTestFinished, test } from 'vitest';
import type { Item } from './generated-items.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';

const key = { Authorization: 'Bearer some-key' };

async function open(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ requestsPerMinute: 10_000, ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are judged by assertions, not by types
async function get(simulator: Simulator, path: string): Promise<any> {
  const response = await fetch(`${simulator.baseUrl}${path}`, { headers: key });
  expect(response.status, path).toBe(200);
  return response.json();
}

/** Validates a response by the schema of the path; members that are null count as missing, as the API sends them. */
function validatorOf({ specification }: Simulator): (path: string, body: unknown) => unknown {
  const ajv = new Ajv({ strict: false });
  formats.default(ajv);
  ajv.addSchema({ $id: 'document', components: specification.components });
  return (path, body) => {
    const schema = specification.paths[path]?.get?.responses['200']?.content['application/json']?.schema ?? {};
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
    const validate = ajv.compile(JSON.parse(text) as object);
    return validate(withoutNulls(body)) ? null : validate.errors;
  };
}

function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_name, member) => (member === null ? undefined : member)));
}

test('every list is read page by page, and responses fit the specification', async () => {
  const simulator = await open();
  const check = validatorOf(simulator);
  expect(simulator.library.collections).toHaveLength(40);
  for (const { path, member, itemPath } of simulator.library.collections) {
    const read: Item[] = [];
    for (let page = 0, isLast = false; !isLast; page += 1) {
      const body = await get(simulator, `${path}?pageSize=40&pageNumber=${page}`);
      expect(check(path, body), path).toBeNull();
      read.push(...body[member]);
      isLast = body.page.lastPage;
    }
    expect(read).toEqual(simulator.library.items.get(path));
    const [first] = read;
    if (first === undefined) continue;
    const body = await get(simulator, `${itemPath}?uid=${first['uid']}`);
    expect(check(itemPath, body), itemPath).toBeNull();
    expect(Object.values(body)[0]).toMatchObject(first);
  }
});

test('embedded items are items of their own lists', async () => {
  const { library } = await open();
  const series = new Map((library.items.get('/series/search') ?? []).map((item) => [item['uid'], item['title']]));
  const seasons = library.items.get('/season/search') ?? [];
  const embedded = seasons.map((season) => season['series'] as Item | null).filter((item) => item !== null);
  expect(embedded.length).toBeGreaterThan(0);
  for (const { uid, title } of embedded) expect(series.get(uid as string)).toBe(title);
});

test('the same seed gives the same items, and another seed others', async () => {
  const texts = await Promise.all(
    [1, 1, 2].map(async (seed) => JSON.stringify([...(await open({ seed })).library.items])),
  );
  expect(texts[0]).toBe(texts[1]);
  expect(texts[0]).not.toBe(texts[2]);
});

test('requests over the limit are rejected until a minute has passed', async () => {
  let now = Date.parse('2026-03-15T15:30:00Z');
  const simulator = await open({ requestsPerMinute: 2, clock: () => now });
  const ask = () => fetch(`${simulator.baseUrl}/series/search`, { headers: key });
  const first = await ask();
  expect(first.headers.get('x-ratelimit-limit')).toBe('2');
  expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
  now += 20_000;
  expect((await ask()).status).toBe(200);
  const rejected = await ask();
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([429, '40']);
  expect(simulator.rejected()).toBe(1);
  now += 40_000;
  expect((await ask()).status).toBe(200);
});

test('requests without a key, other methods, wrong pages and unknown items are rejected', async () => {
  const { baseUrl } = await open();
  const statusOf = async (path: string, init: RequestInit = { headers: key }) =>
    (await fetch(`${baseUrl}${path}`, init)).status;
  expect(await statusOf('/series/search', {})).toBe(401);
  expect(await statusOf('/series/search', { method: 'POST', headers: key })).toBe(405);
  expect(await statusOf('/series/search?pageSize=101')).toBe(400);
  expect(await statusOf('/series/search?pageNumber=-1')).toBe(400);
  expect(await statusOf('/series?uid=unknown')).toBe(404);
  expect(await statusOf('/nothing')).toBe(404);
});
