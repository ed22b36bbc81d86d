import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { declarations } from '../schemas/catalogue.ts';
import { SCOPES } from '../src/workspace/stored-keys.ts';

const root = join(import.meta.dirname, '..');

/** Layers of src/, highest first. A file imports only from its own layer and from lower ones. */
const layers = [
  'cli',
  'serve',
  'operations',
  'jobs',
  'web',
  'workspace',
  'read',
  'sync',
  'metrics',
  'publish',
  'warehouse',
  'upstream',
  'sandbox',
  'contract',
  'base',
];

/** A file with fewer lines needs two importers; otherwise it belongs in its importer. */
const SMALL_LINES = 40;
const FUNCTION_LINES_MAX = 80;

/** Small files with one importer or none, and why they stay. */
const small: Readonly<Record<string, string>> = {
  'src/publish/destinations/load-child.ts': 'the main module of a process',
  'src/operations/': 'one file per operation, called by a command or a job step that renders its result',
  'src/cli/commands/': 'one file per command, loaded when the command runs',
  'src/cli/program/': 'one file per group of commands',
  'src/cli/main.ts': 'the main module of the process',
  'src/cli/run-command-line.ts': 'the command line without the process, which tests call too',
  'src/cli/worker-task.ts': 'part of the command line',
  'src/cli/output/': 'part of the command line',
  'src/cli/shell/shell-text.ts': 'part of the command line',
  'src/web/app/main.tsx': 'the module that the page loads',
  'src/web/app/pages/': 'one file per page, loaded when it is shown',
  'src/web/app/report/report-entry.ts': 'the entry of the module that is built for Node',
  'src/web/report/report-app.ts': 'the only place that loads the built module',
};

/** Modules with state, and why it belongs to the process. */
const stateful: Readonly<Record<string, string>> = {
  'src/base/file-lock.ts held': 'the process ID of a killed process may be that of this one',
  'src/upstream/budget/budget-database.ts shared':
    'budgets of many keys share the few connections that a process may open',
  'src/cli/output/terminal.ts given': 'the surroundings of the running command, per asynchronous context',
  'src/operations/notify/notify-state.ts turns': 'jobs and requests of a process deliver messages one at a time',
  'src/operations/notify/notify-state.ts unwritten': 'if the disk is full, only the memory of the process remains',
  'src/jobs/job-log.ts lastWrites': 'all opened logs of a file write in turn',
  'src/jobs/zone.ts formats': 'Intl formats take milliseconds to create and depend only on the name of the zone',
  'src/warehouse/file/open-files.ts opened': 'POSIX locks belong to the process',
};

interface Source {
  readonly path: string;
  readonly text: string;
  /** Paths of project files, and names of packages. */
  readonly imports: readonly string[];
}

const architecture = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8');
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

  it('have no more lines than their budgets', () => {
    const rows = [...architecture.matchAll(/^\| `(\w+)` \|.*\| ([\d,]+) \|$/gm)];
    const budgets = rows.map(([, layer = '', lines = '']) => [layer, Number(lines.replace(',', ''))] as const);
    expect(budgets.map(([layer]) => layer)).toEqual(layers);
    const linesOf = (layer: string): number =>
      sumOf(
        inSrc.filter(({ path }) => folderOf(path) === `src/${layer}`).map(({ text }) => text.split('\n').length - 1),
      );
    const over = budgets.filter(([layer, most]) => linesOf(layer) > most);
    expect(over.map(([layer, most]) => `${layer}: ${linesOf(layer)} of ${most}`)).toEqual([]);
  });

  it('have no import cycle', () => {
    const cleared = new Set<string>();
    const cycles = sources.map(({ path }) => cycleFrom(path, [], cleared)).filter((cycle) => cycle !== null);
    expect(cycles).toEqual([]);
  });

  it('import DuckDB, undici and the web server in one folder each', () => {
    expect(foldersImporting('@duckdb/node-api')).toEqual(['src/warehouse']);
    // One place decides between a proxy and a direct connection.
    expect(sources.filter(({ text }) => /^import \{.*from 'undici'/m.test(text)).map(({ path }) => path)).toEqual([
      'src/base/dispatcher.ts',
    ]);
    expect(foldersImporting('jose')).toEqual(['src/serve']);
    // Loaded only if a budget or the task queue is shared between machines.
    expect(foldersImporting('rate-limiter-flexible')).toEqual(['src/upstream']);
    expect(foldersImporting('pg')).toEqual(['src/upstream']);
    expect(foldersImporting('pg-boss')).toEqual(['src/jobs']);
    for (const name of ['@fastify/cors', 'prom-client', 'pino', 'pino-pretty']) {
      expect(foldersImporting(name)).toEqual(['src/serve']);
    }
    // Its API has no effect until the user loads an SDK.
    expect(sources.filter(({ text }) => text.includes('@opentelemetry/')).map(({ path }) => path)).toEqual([
      'src/base/trace.ts',
    ]);
    // Loaded only for object stores.
    expect(sources.filter(({ text }) => /(?:from|import\()\s*'@aws-sdk\//.test(text)).map(({ path }) => path)).toEqual([
      'src/publish/storage/s3-connection.ts',
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
    expect(between('src/warehouse/', 'src/upstream/')).toEqual([]);
    expect(between('src/upstream/', 'src/warehouse/')).toEqual([]);
    expect(between('src/read/', 'src/upstream/')).toEqual([]);
    expect(between('src/serve/http/', 'src/upstream/')).toEqual([]);
  });

  it('open sockets only in upstream, the sandbox, the read server, for notifications and for object stores', () => {
    const network = ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'undici'];
    const users = inSrc.filter(
      ({ imports, text }) => imports.some((name) => network.includes(name)) || /\bfetch\(/.test(text),
    );
    const outgoing = 'src/base/dispatcher.ts';
    const senders = inSrc.filter(
      ({ path, imports }) =>
        (imports.includes(outgoing) || imports.includes('nodemailer')) && !path.startsWith('src/upstream/'),
    );
    expect(senders.map(({ path }) => path).sort()).toEqual([
      'src/operations/notify/send-mail.ts',
      'src/operations/notify/send-webhook.ts',
      'src/publish/storage/proxy-handler.ts',
      'src/serve/auth/oauth/issuer-documents.ts',
    ]);
    // The second one compares addresses.
    const none = [outgoing, 'src/base/link-local.ts'];
    const others = users.filter(({ path }) => !none.includes(path));
    expect([...new Set(others.map(({ path }) => folderOf(path)))].sort()).toEqual([
      'src/sandbox',
      'src/serve',
      'src/upstream',
    ]);
  });

  it('share only schemas and contract between the sandbox and the rest', () => {
    const outward = (folder: string, allowed: RegExp): string[] =>
      sources
        .filter(({ path }) => path.startsWith(folder))
        .flatMap(({ path, imports }) =>
          imports
            .filter((target) => /^(src|schemas)\//.test(target) && !allowed.test(target))
            .map((target) => `${path} → ${target}`),
        );
    expect(outward('schemas/fixtures/', /^src\/(sandbox|contract)\/|^schemas\//)).toEqual([]);
    const declared = /^src\/(sandbox\/|contract\/(resource|query-parameters|parameters|fields|json-schema)\.ts$)/;
    expect(outward('src/sandbox/', declared)).toEqual([]);
    const engine = inSrc.filter(({ path }) => !/^src\/(sandbox|cli)\//.test(path));
    const inward = engine.filter(({ imports }) =>
      imports.some((target) => /^(src\/sandbox|schemas\/fixtures)\//.test(target)),
    );
    expect(inward.map(({ path }) => path)).toEqual([]);
  });

  it('read the environment in two files and exit the process in one', () => {
    const withText = (pattern: RegExp): string[] =>
      inSrc.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
    // The surroundings of a command are those of the process, unless a caller gives others.
    const surroundings = 'src/cli/output/terminal.ts';
    expect(withText(/process\.env\b/)).toEqual(['src/base/config/environment.ts', surroundings]);
    expect(withText(/process\.exit\b/)).toEqual(['src/cli/main.ts']);
  });

  it('name no resource outside src/metrics and the data pages', () => {
    // `brand` is both a scope of the contract and the name of an endpoint.
    const scopes = declarations.map(({ scope }): string => scope);
    const names = declarations
      .flatMap(({ name, tables }) => [name, ...tables.map((table) => table.name)])
      .filter((name) => !scopes.includes(name))
      // Scopes of keys are named after what they allow.
      .filter((name) => !(SCOPES as readonly string[]).includes(name));
    const paths = declarations.map(({ path }) => path);
    const named = inSrc
      .filter(({ path }) => !showsResources(path))
      .flatMap(({ path, text }) =>
        literalsOf(text)
          .filter((literal) => names.includes(literal) || paths.some((endpoint) => literal.includes(endpoint)))
          .map((literal) => `${path}: ${literal}`),
      );
    expect(named).toEqual([]);
  });

  it('name no endpoint, tool or thing of the API in the sandbox', () => {
    const names = new Set(declarations.flatMap(({ tool, path }) => [tool, ...path.split('/').slice(1)]));
    const sandbox = inSrc.filter(({ path }) => path.startsWith('src/sandbox/'));
    expect(sandbox.flatMap(({ text }) => literalsOf(text).filter((literal) => names.has(literal)))).toEqual([]);
    const things = /\b(brand|competitor|prompt|article|engine|citation)(s|Id)?\b/i;
    expect(sandbox.filter(({ text }) => things.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('name no snake_case resource or table outside src/metrics and the data pages, not even in comments', () => {
    const names = declarations
      .flatMap(({ name, tables }) => [name, ...tables.map((table) => table.name)])
      .filter((name) => name.includes('_'));
    expect(names.length).toBeGreaterThan(5);
    const pattern = new RegExp(`\\b(${[...new Set(names)].join('|')})\\b`);
    const named = inSrc.filter(({ path, text }) => !showsResources(path) && pattern.test(text));
    expect(named.map(({ path }) => path)).toEqual([]);
  });
});

describe('the files of src', () => {
  it('have names that occur once, except errors.ts of a layer', () => {
    const names = inSrc.map(({ path }) => basename(path)).filter((name) => name !== 'errors.ts');
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('with fewer than 40 lines have two importers', () => {
    const lonely = inSrc.filter(({ path, text }) => {
      const importers = sources.filter(({ imports }) => imports.includes(path));
      return text.split('\n').length <= SMALL_LINES && importers.length < 2;
    });
    const isKept = (path: string): boolean =>
      Object.keys(small).some((kept) => (kept.endsWith('/') ? path.startsWith(kept) : path === kept));
    expect(lonely.map(({ path }) => path).filter((path) => !isKept(path))).toEqual([]);
  });

  it('keep no state at the top level of a module', () => {
    const found = inSrc.flatMap(({ path, text }) => stateOf(text, path).map((name) => `${path} ${name}`));
    expect(found.filter((each) => stateful[each] === undefined)).toEqual([]);
    const samples = [
      'let a = 1;',
      'const a = new Map(); export const f = (k) => a.set(k, 1);',
      'const a = []; a[0] = 1;',
    ];
    expect(samples.map((sample) => stateOf(sample))).toEqual([['a'], ['a'], ['a']]);
    expect(stateOf('const a = new Set([1]); const f = () => { const b = new Map(); b.set(1, a.has(1)); };')).toEqual(
      [],
    );
  });

  it('have no function of more than 80 lines', () => {
    const found = inSrc.flatMap(({ path, text }) => longFunctionsOf(text, path).map((line) => ({ path, line })));
    expect(found).toEqual([]);
    expect(longFunctionsOf(`const f = () => {\n${'f();\n'.repeat(FUNCTION_LINES_MAX)}};`)).toEqual([1]);
  });
});

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function walk(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
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

// Has numbers or views of certain resources.
function showsResources(path: string): boolean {
  return path.startsWith('src/metrics/') || path.startsWith('src/web/app/');
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

type SyntaxNode = Readonly<Record<string, unknown>> & { readonly type: string };

function syntaxOf(text: string, path = ''): SyntaxNode {
  return parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }) as unknown as SyntaxNode;
}

// Calls `see` with a node and all nodes below it.
function visit(node: unknown, see: (node: SyntaxNode) => void): void {
  if (Array.isArray(node)) for (const each of node) visit(each, see);
  else if (typeof node === 'object' && node !== null) {
    if ('type' in node && typeof node.type === 'string') see(node as SyntaxNode);
    for (const value of Object.values(node)) visit(value, see);
  }
}

const MUTATION = /^(set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill)$/;
/** Classes whose instances have no state, or whose methods that change it are in MUTATION. */
const PLAIN = ['Map', 'Set', 'Array', 'RegExp', 'URL', 'Intl'];

// Names of the variables at the top level of a module that are reassigned or whose contents change.
function stateOf(text: string, path?: string): string[] {
  const program = syntaxOf(text, path);
  const changed = new Set<string>();
  visit(program, (node) => {
    const callee = node['callee'] as SyntaxNode | undefined;
    if (node.type === 'CallExpression' && callee?.type === 'MemberExpression') {
      const method = nameOf(callee['property']);
      const [first] = node['arguments'] as SyntaxNode[];
      if (MUTATION.test(method)) changed.add(nameOf(callee['object']));
      if (nameOf(callee['object']) === 'Object' && method === 'assign') changed.add(rootOf(first));
    }
    if (node.type === 'AssignmentExpression' && isMember(node['left'])) changed.add(rootOf(node['left']));
    if (node.type === 'UpdateExpression' && isMember(node['argument'])) changed.add(rootOf(node['argument']));
    if (node.type === 'UnaryExpression' && node['operator'] === 'delete') changed.add(rootOf(node['argument']));
  });
  return (program['body'] as SyntaxNode[]).flatMap((statement) => {
    const declaration = (statement['declaration'] ?? statement) as SyntaxNode;
    if (declaration.type !== 'VariableDeclaration') return [];
    return (declaration['declarations'] as SyntaxNode[]).flatMap(({ id, init }) => {
      const name = nameOf(id);
      const isInstance =
        (init as SyntaxNode | null)?.type === 'NewExpression' &&
        !PLAIN.includes(rootOf((init as SyntaxNode)['callee']));
      return declaration['kind'] !== 'const' || isInstance || changed.has(name) ? [name] : [];
    });
  });
}

function nameOf(node: unknown): string {
  return String((node as { name?: string } | undefined)?.name ?? '');
}

function isMember(node: unknown): boolean {
  return (node as SyntaxNode).type === 'MemberExpression';
}

// The variable of an expression such as a.b[c].
function rootOf(node: unknown): string {
  let at = node as SyntaxNode | undefined;
  while (at?.type === 'MemberExpression') at = at['object'] as SyntaxNode;
  return nameOf(at);
}

// First lines of the functions, methods and closures that are too long.
function longFunctionsOf(text: string, path?: string): number[] {
  const lineOf = (offset: unknown): number => text.slice(0, offset as number).split('\n').length;
  const found: number[] = [];
  visit(syntaxOf(text, path), ({ type, start, end, body }) => {
    const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type) && body !== null;
    if (isFunction && lineOf(end) - lineOf(start) >= FUNCTION_LINES_MAX) found.push(lineOf(start));
  });
  return found;
}
