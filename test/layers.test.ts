import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declarations } from '../schemas/catalogue.ts';

const root = join(import.meta.dirname, '..');

/** Layers of src/, highest first. A file imports only from its own layer and from lower ones. */
const layers = [
  'cli',
  'serve',
  'operations',
  'scheduler',
  'web',
  'session',
  'query',
  'sync',
  'analytics',
  'remote',
  'lake',
  'snapshot',
  'storage',
  'warehouse',
  'upstream',
  'budget',
  'sandbox',
  'plausibility',
  'contract',
  'base',
];

interface Source {
  readonly path: string;
  readonly text: string;
  /** Paths of project files, and names of packages. */
  readonly imports: readonly string[];
}

const sources = [...walk('src'), ...walk('schemas'), ...walk('jobs')].map(readSource);
const inSrc = sources.filter(({ path }) => path.startsWith('src/'));

describe('the layers of src', () => {
  it('are tested on all sources and their imports', () => {
    expect(inSrc.length).toBeGreaterThan(40);
    expect(inSrc.flatMap(({ imports }) => imports).length).toBeGreaterThan(150);
  });

  it('include every file', () => {
    expect(inSrc.filter(({ path }) => layerOf(path) < 0).map(({ path }) => path)).toEqual([]);
  });

  it('never import from a higher layer', () => {
    const upward = inSrc.flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('src/') && layerOf(target) < layerOf(path))
        .map((target) => `${path} imports ${target}`),
    );
    expect(upward).toEqual([]);
  });

  it('have no import cycle', () => {
    const cleared = new Set<string>();
    const cycles = sources.map(({ path }) => cycleFrom(path, [], cleared)).filter((cycle) => cycle !== null);
    expect(cycles).toEqual([]);
  });

  it('import DuckDB, undici and the web server in one folder each', () => {
    expect(foldersImporting('@duckdb/node-api')).toEqual(['src/warehouse']);
    expect(foldersImporting('undici')).toEqual(['src/upstream']);
    // Loaded only if a budget or the task queue is shared between machines.
    expect(foldersImporting('rate-limiter-flexible')).toEqual(['src/budget']);
    expect(foldersImporting('pg')).toEqual(['src/budget', 'src/scheduler']);
    for (const name of ['bullmq', 'ioredis']) expect(foldersImporting(name)).toEqual(['src/scheduler']);
    for (const name of ['@fastify/cors', 'prom-client', 'pino', 'pino-pretty']) {
      expect(foldersImporting(name)).toEqual(['src/serve']);
    }
    // Loaded only if traces are enabled.
    expect(sources.filter(({ text }) => text.includes('@opentelemetry/api')).map(({ path }) => path)).toEqual([
      'src/base/trace/trace-sdk.ts',
    ]);
    // Loaded only for object stores.
    expect(sources.filter(({ text }) => text.includes("'@aws-sdk/")).map(({ path }) => path)).toEqual([
      'src/storage/s3-connection.ts',
    ]);
    expect(foldersImporting('fastify')).toEqual(['src/serve']);
  });

  it('keep upstream and warehouse independent of each other', () => {
    const between = (from: string, to: string): string[] =>
      inSrc.flatMap(({ path, imports }) =>
        path.startsWith(from)
          ? imports.filter((target) => target.startsWith(to)).map((target) => `${path} → ${target}`)
          : [],
      );
    for (const collecting of ['src/upstream/', 'src/budget/']) {
      expect(between('src/warehouse/', collecting)).toEqual([]);
      expect(between(collecting, 'src/warehouse/')).toEqual([]);
      expect(between('src/query/', collecting)).toEqual([]);
      expect(between('src/serve/http/', collecting)).toEqual([]);
    }
  });

  it('open sockets only in upstream, the sandbox, the read server, the local socket and the webhook client', () => {
    const network = ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'undici'];
    const users = inSrc.filter(
      ({ imports, text }) => imports.some((name) => network.includes(name)) || /\bfetch\(/.test(text),
    );
    // The local socket to a workspace's owner, and the webhook client.
    const local = ['src/session/owner-server.ts', 'src/session/owner-client.ts', 'src/session/socket-frames.ts'];
    const outgoing = ['src/operations/notify/deliver.ts'];
    expect(users.filter(({ path }) => /^src\/(session|operations)\//.test(path)).map(({ path }) => path)).toEqual(
      expect.arrayContaining([...local, ...outgoing]),
    );
    const others = users.filter(({ path }) => ![...local, ...outgoing].includes(path));
    expect([...new Set(others.map(({ path }) => folderOf(path)))].sort()).toEqual([
      'src/sandbox',
      'src/serve',
      'src/upstream',
    ]);
  });

  it('share only schemas and contract between the sandbox and the rest', () => {
    const outward = sources
      .filter(({ path }) => path.startsWith('src/sandbox/') || path.startsWith('schemas/fixtures/'))
      .flatMap(({ path, imports }) =>
        imports
          .filter((target) => /^(src|schemas)\//.test(target))
          .filter((target) => !/^src\/(sandbox|contract)\/|^schemas\//.test(target))
          .map((target) => `${path} → ${target}`),
      );
    expect(outward).toEqual([]);
    const engine = inSrc.filter(({ path }) => !/^src\/(sandbox|cli)\//.test(path));
    const inward = engine.filter(({ imports }) =>
      imports.some((target) => /^(src\/sandbox|schemas\/fixtures)\//.test(target)),
    );
    expect(inward.map(({ path }) => path)).toEqual([]);
  });

  it('read the environment in one file and exit the process in one', () => {
    const withText = (pattern: RegExp): string[] =>
      inSrc.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
    expect(withText(/process\.env\b/)).toEqual(['src/base/config/config.ts']);
    expect(withText(/process\.exit\b/)).toEqual(['src/cli/main.ts']);
  });

  it('name no resource outside src/analytics', () => {
    // `brand` is both a scope of the contract and the name of an endpoint.
    const scopes = declarations.map(({ scope }): string => scope);
    const names = declarations
      .flatMap(({ name, tables }) => [name, ...tables.map((table) => table.name)])
      .filter((name) => !scopes.includes(name));
    const paths = declarations.map(({ path }) => path);
    const named = inSrc
      .filter(({ path }) => !path.startsWith('src/analytics/'))
      .flatMap(({ path, text }) =>
        literalsOf(text)
          .filter((literal) => names.includes(literal) || paths.some((endpoint) => literal.includes(endpoint)))
          .map((literal) => `${path}: ${literal}`),
      );
    expect(named).toEqual([]);
  });

  it('name no snake_case resource or table outside src/analytics, not even in comments', () => {
    const names = declarations
      .flatMap(({ name, tables }) => [name, ...tables.map((table) => table.name)])
      .filter((name) => name.includes('_'));
    expect(names.length).toBeGreaterThan(5);
    const pattern = new RegExp(`\\b(${[...new Set(names)].join('|')})\\b`);
    const named = inSrc.filter(({ path, text }) => !path.startsWith('src/analytics/') && pattern.test(text));
    expect(named.map(({ path }) => path)).toEqual([]);
  });
});

function walk(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const specifiers = [...text.matchAll(/(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)'([^']+)'/gm)].map(
    (match) => match[1] as string,
  );
  const imports = specifiers.map((name) =>
    name.startsWith('.') ? relative(root, join(root, dirname(path), name)) : name,
  );
  return { path, text, imports };
}

function layerOf(path: string): number {
  const [, name = ''] = path.split('/');
  return layers.indexOf(name);
}

function foldersImporting(name: string): string[] {
  return [...new Set(sources.filter(({ imports }) => imports.includes(name)).map(({ path }) => folderOf(path)))].sort();
}

// The folder of a layer, such as src/warehouse.
function folderOf(path: string): string {
  return path.split('/').slice(0, 2).join('/');
}

// Visits a file without cycles only once, even if several paths lead to it.
function cycleFrom(path: string, trail: readonly string[], cleared: Set<string>): string | null {
  if (cleared.has(path)) return null;
  if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path].join(' → ');
  const source = sources.find((candidate) => candidate.path === path);
  for (const target of source?.imports ?? []) {
    const cycle = cycleFrom(target, [...trail, path], cleared);
    if (cycle !== null) return cycle;
  }
  cleared.add(path);
  return null;
}

function literalsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? '',
  );
}
