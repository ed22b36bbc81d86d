// Plants each fault of the tables in this folder into a copy of the project, and checks that the tests named with it fail:
//
//   npm run test:mutants [-- WORD]    # only mutants whose table, file or test contains WORD
//
// Exits with 1 if a mutant survives, or if a test fails without any.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import PQueue from 'p-queue';
import { ROOT } from '../support/root.ts';

/** A fault in one place of a file, and the test files that must fail with it. */
export interface Mutant {
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly from: string;
  readonly to: string;
  readonly tests: readonly string[];
  /** Whether the tests run the built files, which then must be built with the fault. */
  readonly isBuilt?: boolean;
}

const root = fileURLToPath(ROOT);
/** What a copy needs. Packages are linked. */
const COPIED = [
  '.ci',
  'dist',
  'docs',
  'examples',
  'jobs',
  'schemas',
  'src',
  'test',
  'package.json',
  'LICENSE',
  'README.md',
  'tsconfig.json',
];
/** A mutant that makes a test hang is caught by this limit. */
const LIMIT_MS = 300_000;
/** Code that cannot change what is in a world. */
const OUTSIDE_WORLDS = /^src\/(cli|serve|web|read|jobs|workspace|publish\/(lake|storage))\//;

const word = process.argv[3] ?? '';
const mutants = (await Promise.all(tablesOf().map(readTable)))
  .flat()
  .filter(({ table, mutant }) => [table, mutant.file, ...mutant.tests].some((text) => text.includes(word)));
if (mutants.length === 0) {
  print(`No table, file or test of a mutant contains ${JSON.stringify(word)}`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'sightline-mutants-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const lanes = Array.from({ length: availableParallelism() }, (_, index) => makeCopy(join(folder, String(index))));

const tests = [...new Set(mutants.flatMap(({ mutant }) => mutant.tests))];
const healthy = await runTests(lanes[0] as string, tests, {});
if (healthy.code !== 0) {
  print(`The tests fail without a mutant:\n${healthy.text.slice(-4_000)}`);
  process.exit(1);
}
const survivors: string[] = [];
const queue = new PQueue({ concurrency: lanes.length });
for (const one of mutants) void queue.add(() => plant(one));
await queue.onIdle();
print(`${mutants.length - survivors.length} of ${mutants.length} mutants caught`);
process.exit(survivors.length > 0 ? 1 : 0);

function tablesOf(): string[] {
  return readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && name !== 'run-mutants.ts');
}

async function readTable(table: string): Promise<{ table: string; mutant: Mutant }[]> {
  const { mutants: listed } = (await import(pathToFileURL(join(import.meta.dirname, table)).href)) as {
    mutants: readonly Mutant[];
  };
  return listed.map((mutant) => ({ table, mutant }));
}

function makeCopy(copy: string): string {
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function plant({ table, mutant }: { table: string; mutant: Mutant }): Promise<void> {
  const lane = lanes.pop() as string;
  const path = join(lane, mutant.file);
  const text = readFileSync(path, 'utf8');
  const name = `${table} ${mutant.file}: ${mutant.from.trim().replaceAll(/\s+/g, ' ').slice(0, 80)}`;
  try {
    if (text.split(mutant.from).length !== 2) throw new Error(`${name}: the text does not occur once`);
    writeFileSync(
      path,
      text.replace(mutant.from, () => mutant.to),
    );
    const { code, ms } = await runTests(lane, mutant.tests, {
      ...(mutant.isBuilt === true ? {} : { TEST_BUILD: 'keep' }),
      ...(OUTSIDE_WORLDS.test(mutant.file) ? { TEST_WORLDS_OF: root } : {}),
    });
    if (code === 0) survivors.push(name);
    print(`${code === 0 ? 'SURVIVED' : 'caught'} ${(ms / 1000).toFixed(1)} s  ${name}`);
  } catch (thrown) {
    survivors.push(name);
    print(`SURVIVED  ${String(thrown)}`);
  } finally {
    writeFileSync(path, text);
    lanes.push(lane);
  }
}

function runTests(copy: string, files: readonly string[], env: Readonly<Record<string, string>>) {
  const startedAt = performance.now();
  const args = ['vitest', 'run', '--config', 'test/vitest.config.ts', '--root', '.', '--bail', '1', ...files];
  const child = spawn('npx', args, { cwd: copy, env: { ...process.env, ...env }, detached: true });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), LIMIT_MS);
  return new Promise<{ code: number | null; text: string; ms: number }>((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, text: Buffer.concat(chunks).toString(), ms: performance.now() - startedAt });
    });
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
