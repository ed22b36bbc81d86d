import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { listEndpoints } from '../../src/operations/endpoints.ts';
import { runCli } from '../cli/helpers.ts';
import { NOW_MS } from '../support/clocks.ts';
import type { JsonObject } from './exact-json.ts';
import { type GenericMirror, openGenericMirror } from './generic-mirror.ts';
import {
  brokenDocuments,
  dangerousPaths,
  withCycles,
  withDangerousPaths,
  withManyPaths,
  withPrototypeNames,
} from './hostile-documents.ts';
import { shapes } from './shapes.ts';
import { startUpstream } from './upstream.ts';

const workspace = { brands: 1, prompts: 2, days: 2 } as const;

async function open(alterDocument?: (document: JsonObject) => string, additional = shapes): Promise<GenericMirror> {
  const altered = alterDocument === undefined ? {} : { alterDocument };
  const upstream = await startUpstream({ shapes: additional, nowMs: NOW_MS, workspace, ...altered });
  onTestFinished(() => upstream.close());
  const mirror = await openGenericMirror(upstream, NOW_MS);
  onTestFinished(() => mirror.close());
  return mirror;
}

test('the command lists declared and other endpoints of the document', async () => {
  const mirror = await open();
  const { code, stdout, stderr } = await runCli(['endpoints', '--json'], {
    cwd: mirror.folder,
    env: mirror.environment,
  });
  expect([code, stderr]).toEqual([0, '']);
  const { endpoints, ignored, unlisted } = JSON.parse(stdout) as Awaited<ReturnType<typeof listEndpoints>>;
  const states = new Map(endpoints.map(({ path, state, reason }) => [path, reason ?? state]));
  expect(shapes.map(({ path }) => [path, states.get(path)])).toEqual(shapes.map(({ path }) => [path, 'available']));
  const declared = endpoints.filter(({ state }) => state === 'declared').map(({ resource }) => resource);
  expect(declared.sort()).toEqual(declarations.map(({ name }) => name).sort());
  expect({ ignored, unlisted }).toEqual({ ignored: 0, unlisted: [] });
});

test('the command prints a table with the counts', async () => {
  const mirror = await open();
  const { code, stdout, stderr } = await runCli(['endpoints'], { cwd: mirror.folder, env: mirror.environment });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\/brands\/\{brandId\}\/labels +│ available/);
  expect(stderr).toContain(`${declarations.length} declared, 0 mirrored, ${shapes.length} available, 0 unsupported`);
});

test.each([
  ['cycles', withCycles],
  ['names of prototypes', withPrototypeNames],
  ['100,000 paths', withManyPaths],
  ['dangerous paths', (document: JsonObject) => withDangerousPaths(document, 'http://elsewhere.invalid')],
] as const)('the declared endpoints of a hostile document are found: %s', async (_title, alter) => {
  const { endpoints } = await listEndpoints((await open(alter, [])).context);
  const declared = endpoints.filter(({ state }) => state === 'declared').map(({ resource }) => resource);
  expect(declared.sort()).toEqual(declarations.map(({ name }) => name).sort());
  const others = endpoints.filter(({ state }) => state === 'available');
  expect(others.filter(({ path }) => dangerousPaths.includes(path))).toEqual([]);
});

test.each(Object.entries(brokenDocuments))(
  'a broken document is an error, or lists nothing: %s',
  async (_title, text) => {
    const { context } = await open(() => text, []);
    const listed = await listEndpoints(context).catch((thrown: unknown) => thrown);
    if (listed instanceof Error) expect(listed).toMatchObject({ code: expect.any(String) });
    else expect(listed).toMatchObject({ endpoints: [], unlisted: declarations.map(({ path }) => path) });
  },
);
