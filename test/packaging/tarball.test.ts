import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { visible } from '../../src/base/visible.ts';
import { rowsIn } from '../cli/helpers.ts';
import { countOf } from '../support/counts.ts';
import { expectJson } from '../support/json-outputs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { oneThread } from '../support/short-lived.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Manifest {
  readonly name?: string;
  readonly license?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<'types' | 'default', string>>>>;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** Folders of all packages installed with the tarball, according to the lock file, if present on this machine. */
const production = Object.entries(
  (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> })
    .packages,
)
  .filter(([path, { dev }]) => path !== '' && dev !== true && existsSync(join(root, path)))
  .map(([path]) => path);

/**
 * Maximum size of the tarball without the parts below. Type declarations are 75 kB of it, the calibration 70 kB, the MCP server 40 kB, and
 * the mirror of undeclared endpoints with its documentation 30 kB.
 */
const TARBALL_BYTES_MAX = 1_175_000;
/** Maximum size of the compressed data pages without fonts, including 130 kB for the SQL page and its editor. */
const PAGES_BYTES_MAX = 370_000;
/** Maximum size of the fonts of the pages: seven subsets, of which a browser loads those that a page needs. */
const FONT_BYTES_MAX = 230_000;
const PAGES = 'dist/src/web/app/';
/** Maximum size of the compressed renderer, which a package provides as one file. */
const RENDERER_BYTES_MAX = 250_000;
const RENDERER = 'dist/src/web/reference/page/renderer.js';
/** Maximum size of the compressed module that draws reports, with its packages, and of the fonts of charts as PNG. */
const REPORT_BYTES_MAX = 340_000;
const REPORT = [
  'dist/src/web/report-app/report-app.js',
  'dist/src/web/fonts/public-sans-regular.ttf',
  'dist/src/web/fonts/public-sans-bold.ttf',
];

/** Licences that permit use by anyone. */
const LICENSES = ['MIT', 'MIT-0', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD'];

// Reproduces the result of `npm install --omit=dev` without a network: extracts the tarball and links the packages of
// the lock file. Files of the package see nothing else, so an import of a dev dependency fails.
let folder = '';
let installed = '';
let tarball = '';
let packed: readonly string[] = [];
let bytes = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sightline-tarball-'));
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
    env,
    maxBuffer: 16 * 1024 * 1024,
  });
  const [{ filename, files, size }] = JSON.parse(stdout) as [
    { filename: string; files: { path: string }[]; size: number },
  ];
  tarball = filename;
  packed = files.map(({ path }) => path);
  bytes = size;
  await run('tar', ['--extract', '--gzip', '--file', join(folder, filename), '--directory', folder]);
  installed = join(folder, 'node_modules', '@sightline-mirror', 'sightline');
  await mkdir(dirname(installed), { recursive: true });
  await rename(join(folder, 'package'), installed);
  for (const path of production.filter((each) => each.lastIndexOf('node_modules/') === 0)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join(root, path), join(folder, path));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the npm tarball', () => {
  test('contains the program and its documentation, and nothing else', () => {
    const tops = new Set(
      packed.map((path) =>
        path
          .split('/')
          .slice(0, path.startsWith('dist/') ? 2 : 1)
          .join('/'),
      ),
    );
    const folders = ['dist/docs', 'dist/jobs', 'dist/schemas', 'dist/src', 'docs', 'examples'];
    expect([...tops].sort()).toEqual(['LICENSE', 'README.md', ...folders, 'package.json']);
    expect(packed.filter((path) => /\.(map|duckdb|parquet|env|key|pem)$|(^|\/)\.(?!dockerignore)/.test(path))).toEqual(
      [],
    );
    expect(packed.filter((path) => path.endsWith('.ts')).sort()).toEqual(declarationsOfExports());
    const rendererBytes = gzipSync(readFileSync(join(installed, RENDERER)), { level: 9 }).length;
    expect(rendererBytes).toBeLessThan(RENDERER_BYTES_MAX);
    const compressed = (path: string): number => gzipSync(readFileSync(join(installed, path)), { level: 9 }).length;
    const reportBytes = REPORT.reduce((sum, path) => sum + compressed(path), 0);
    expect(reportBytes).toBeLessThan(REPORT_BYTES_MAX);
    const pages = packed.filter((path) => path.startsWith(PAGES));
    const pageBytes = pages.reduce((sum, path) => sum + compressed(path), 0);
    const fonts = pages.filter((path) => path.endsWith('.woff2'));
    const fontBytes = fonts.reduce((sum, path) => sum + compressed(path), 0);
    expect(fonts).toHaveLength(7);
    expect(fontBytes).toBeLessThan(FONT_BYTES_MAX);
    expect(pageBytes).toBeGreaterThan(fontBytes);
    expect(pageBytes - fontBytes).toBeLessThan(PAGES_BYTES_MAX);
    expect(bytes - rendererBytes - reportBytes - pageBytes).toBeLessThan(TARBALL_BYTES_MAX);
    // Comments are in the declarations.
    expect(readFileSync(join(installed, 'dist/src/cli/main.js'), 'utf8')).not.toMatch(/^\s*(\/\*\*|\/\/)/m);
    expect(readFileSync(join(installed, 'dist/src/operations/sightline.d.ts'), 'utf8')).toContain('@example');
    for (const page of packed.filter((path) => path.endsWith('.md'))) {
      const text = readFileSync(join(installed, page), 'utf8');
      for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)) {
        expect(packed, `${page} links to ${link}`).toContain(normalize(join(dirname(page), link)));
      }
    }
  });

  test('has the name that the documentation installs', () => {
    const named = ['README.md', 'docs/operator/README.md', 'docs/deploy/README.md'].flatMap((page) => [
      ...readFileSync(join(installed, page), 'utf8').matchAll(/[\w./-]+\.tgz/g),
    ]);
    expect(named.length).toBeGreaterThan(3);
    expect(new Set(named.map(([name]) => name.replace('./', '')))).toEqual(new Set([tarball]));
  });

  test('imports only packages that are installed with it', () => {
    const { dependencies = {}, peerDependenciesMeta = {} } = manifestIn(installed);
    // Optional peer dependencies are loaded only on use; see the next test.
    const known = [...Object.keys(dependencies), ...Object.keys(peerDependenciesMeta)];
    const specifiers = packed
      .filter((path) => path.startsWith('dist/') && path.endsWith('.js') && !path.includes('/page/'))
      .flatMap((path) => {
        const code = readFileSync(join(installed, path), 'utf8');
        return [
          ...code.matchAll(/(?:^(?:import|export)\s[^;'"]*\bfrom\s*|\bimport\s*\(\s*|^import\s+)(['"])([^'"\n]+)\1/gm),
        ].map((match) => match[2] ?? '');
      })
      .filter((name) => !name.startsWith('.') && !isBuiltin(name));
    expect(specifiers.length).toBeGreaterThan(20);
    const names = specifiers.map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    for (const name of new Set(names)) expect(known).toContain(name);
  });

  test('runs the demo, which replaces an earlier one, keeps its data and prints no colours, and serves its data', async () => {
    const cwd = join(folder, 'somewhere');
    const data = join(cwd, 'data', 'demo');
    await mkdir(data, { recursive: true });
    await writeFile(join(data, '.demo'), '');
    await writeFile(join(data, 'of-the-earlier-demo'), '');
    // The demo does not read the settings of an upstream from the environment.
    await writeFile(join(cwd, 'sightline.config.json'), JSON.stringify({ calibration: { probes: 0 } }));
    // Two days, because today has few responses just after midnight.
    const demo = ['demo', '--days', String(countOf(2, 60))];
    const env = { ...ownEnv(), TERM: 'xterm-256color' };
    const { stdout, stderr } = await run(process.execPath, [main(), ...demo], { cwd, env });
    expect(visible(stdout + stderr)).toBe(stdout + stderr);
    const made = ['.demo', 'analytics.duckdb', 'raw', 'snapshots', 'warehouse.duckdb'];
    expect((await readdir(data)).sort()).toEqual(made);
    expect((await readdir(cwd)).sort()).toEqual(['data', 'sightline.config.json']);
    for (const title of ['our key figures', 'week by week', 'In which topics']) expect(stdout).toContain(title);
    for (const path of ['warehouse.duckdb', 'analytics.duckdb', 'snapshots/latest']) {
      expect(stdout).toContain(join('data/demo', path));
      expect(existsSync(join(data, path))).toBe(true);
    }
    expect(existsSync(join(data, 'snapshots/latest/manifest.json'))).toBe(true);
    expect(stdout.match(/\n[1-9]\d* rows\n/g)).toHaveLength(3);
    const owners = `select owner, count(*) > 1 as several, (select count(*) > ${countOf(20, 100)} from responses) as many
      from mart.dim_domain group by owner order by owner`;
    const found = await rowsIn(cwd, { SIGHTLINE_WORKSPACE: 'demo' }, owners);
    expect(found).toEqual(['competitor', 'owned', 'unknown'].map((owner) => ({ owner, several: true, many: true })));
    // The server and all its imports, up to a first response.
    const server = await serve(cwd, 'serve', '--workspace', 'demo', '--port', '0', '--metrics-port', '0');
    expect((await fetch(new URL('/readyz', JSON.parse(server.line).baseUrl))).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });
});

/** Path of the program of the installed package. */
function main(): string {
  return join(installed, 'dist/src/cli/main.js');
}

/** Arguments of Node for a command of the installed package that prints JSON. */
function argumentsOf(...args: readonly string[]): string[] {
  return [main(), ...args, '--json'];
}

function ownEnv(): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], HOME: folder, ...oneThread(), ...NO_PROBES };
}

/** Starts a command that serves; `stop` interrupts it and returns its exit code. */
async function serve(cwd: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, argumentsOf(...args), {
    cwd,
    env: ownEnv(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const stop = async (): Promise<number | null> => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    return (await exited)[0];
  };
  return { line: line.toString(), stop };
}

describe('a program', () => {
  // Uses the package from outside its folder, as `npm install` of the tarball makes it available.
  let program = '';
  beforeAll(async () => {
    program = join(folder, 'program');
    await mkdir(program);
    await cp(join(installed, 'examples'), program, { recursive: true });
  });

  test('runs the example on a generated workspace', async () => {
    const served = await serve(program, 'sandbox', '--port', '0', '--prompts', '1', '--days', '1');
    expectJson<{ baseUrl: string; key: string }>('sandbox', served.line);
    await served.stop();
    // In a sandbox whose time passes, a response may arrive between the sync and its check.
    // The example syncs 8 days. Questions about earlier ones, which it draws at random, would not be compared.
    const sandbox = await startStillSandbox({ brands: 1, prompts: 1, days: 4 });
    try {
      const env = { ...ownEnv(), SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
      const { stdout, stderr } = await run(process.execPath, ['digest.mjs'], { cwd: program, env });
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^planned: [1-9]\d* requests$/m);
      expect(stdout).toMatch(/^synced: complete, [1-9]\d* requests$/m);
      // Shortly after midnight (UTC) the last of the 4 days has no responses yet.
      expect(stdout).toMatch(/^brand [\w-]+: 0 of [34] days differ$/m);
      expect(stdout).toMatch(/^compared: [1-9]\d* of \d+ equal$/m);
      expect(stdout).toMatch(/^undetermined: \d+ points$/m);
      expect(stdout).toMatch(/^\S+: [1-9]\d* responses, \d+ mention the brand$/m);
      expect(stdout).toMatch(/^backup: [1-9]\d* rows in /m);
      expect(stdout).toMatch(/^rejected: sql_rejected$/m);
      const data = join(program, 'data/default');
      expect(await readdir(data)).toEqual(expect.arrayContaining(['analytics.duckdb', 'reports', 'snapshots']));
      expect(existsSync(join(program, 'data/default-backup.duckdb'))).toBe(true);
    } finally {
      await sandbox.close();
    }
  });

  test('is type-checked against the declarations of the exports', async () => {
    const compilerOptions = {
      allowJs: true,
      checkJs: true,
      noEmit: true,
      strict: true,
      target: 'es2023',
      lib: ['es2023'],
      skipDefaultLibCheck: true,
      module: 'nodenext',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const wrong =
      "import { openContext, sync } from '@sightline-mirror/sightline';\nawait sync(openContext(), { only: 'brands' });\n";
    await writeFile(join(program, 'wrong.mjs'), wrong);
    const files = ['digest.mjs', 'wrong.mjs'];
    await writeFile(join(program, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', program, '--singleThreaded'], { cwd: program }).catch(
      (thrown: { stdout: string }) => thrown,
    );
    expect(stdout.match(/^\S+ error \w+/gm)).toEqual(['wrong.mjs(2,29): error TS2322']);
  });

  test('cannot import other modules of the package', async () => {
    const script = "await import('@sightline-mirror/sightline/dist/src/base/files.js')";
    const imported = run(process.execPath, ['--input-type=module', '-e', script], { cwd: program });
    await expect(imported).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});

describe('the production dependencies', () => {
  test('have no install scripts, support Node 20.19 and have permissive licences', () => {
    expect(production.length).toBeGreaterThan(80);
    for (const path of production) {
      const { scripts = {}, engines, license } = manifestIn(join(root, path));
      expect(
        Object.keys(scripts).filter((name) => ['preinstall', 'install', 'postinstall'].includes(name)),
        path,
      ).toEqual([]);
      expect(takesOldest(engines?.node ?? '*'), `${path} wants Node ${engines?.node}`).toBe(true);
      expect(LICENSES, path).toContain(license);
      expect(readdirSync(join(root, path)), path).not.toContain('binding.gyp');
    }
    const { scripts = {} } = manifestIn(installed);
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name);
  });
});

// The declaration files that the exports name, and those that they import.
function declarationsOfExports(): string[] {
  const found = new Set<string>();
  const add = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    const imports = readFileSync(join(installed, path), 'utf8').matchAll(/from ['"](\.[^'"]+)\.[jt]s['"]/g);
    for (const [, target] of imports) add(join(dirname(path), `${target}.d.ts`));
  };
  for (const entry of Object.values(manifestIn(installed).exports ?? {})) {
    if (typeof entry !== 'string') add(normalize(entry.types));
  }
  return [...found].sort();
}

// Returns whether a version range includes Node 20.19. Handles only the syntax used by packages here.
function takesOldest(range: string): boolean {
  return range.split('||').some((part) => {
    const [, sign, major, minor = '0'] = /^\s*(>=|\^|~)?\s*(\d+|\*)(?:\.(\d+|\*))?/.exec(part) ?? [];
    if (major === '*') return true;
    const isReached = Number(major) < 20 || (Number(major) === 20 && Number(minor === '*' ? 0 : minor) <= 19);
    return sign === '>=' ? isReached : Number(major) === 20 && isReached;
  });
}
