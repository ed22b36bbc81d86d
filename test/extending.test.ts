import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { samples } from './extending/samples.ts';
import { temporaryFolder } from './support/folders.ts';

const root = join(import.meta.dirname, '..');
const copied = [
  '.ci',
  'LICENSE',
  'README.md',
  'docs',
  'examples',
  'jobs',
  'package.json',
  'schemas',
  'src',
  'test',
  'tsconfig.json',
];

/** Tests that compare declarations, marts, jobs, options and error codes with documents and fixtures. */
const tests = [
  'test/extending/samples-work.test.ts',
  'test/docs.test.ts',
  'test/layers.test.ts',
  'test/contract/payloads.test.ts',
  'test/sandbox/endpoints.test.ts',
];

describe('docs/CONTRIBUTING.md', () => {
  it('lists exactly the files that each sample adds or changes', () => {
    const page = readFileSync(join(root, 'docs/CONTRIBUTING.md'), 'utf8');
    const rows = [...page.matchAll(/^\| (an? [^|]+) \| ([^|]+) \|/gm)];
    expect(rows.map(([, adds]) => adds)).toEqual(samples.map(({ adds }) => adds));
    for (const [index, { adds, files, edits }] of samples.entries()) {
      const listed = [...(rows[index]?.[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
      const paths = Object.keys({ ...files, ...edits });
      const matching = (pattern: string): string[] =>
        paths.filter((path) =>
          new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/<\w+>/g, '[\\w-]+')}$`).test(path),
        );
      expect(listed.flatMap(matching).sort(), adds).toEqual(paths.sort());
      expect(listed.length, adds).toBe(paths.length);
    }
  });
});

describe('a copy of the sources with a sample of everything that can be added', () => {
  // Starts a compiler and a test run, so it takes longer than other tests on a busy machine.
  const limits = { timeout: 900_000 };
  it('compiles and passes the tests without a change of another file', limits, async () => {
    const copy = await temporaryFolder();
    for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    renameSync(join(copy, 'test/extending/samples-work.ts'), join(copy, 'test/extending/samples-work.test.ts'));
    for (const { files = {}, edits = {} } of samples) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(copy, dirname(path)), { recursive: true });
        writeFileSync(join(copy, path), text, { flag: 'wx' });
      }
      for (const [path, replacements] of Object.entries(edits)) {
        const text = readFileSync(join(copy, path), 'utf8');
        writeFileSync(join(copy, path), replacements.reduce(replaceOnce, text));
      }
    }
    // With several threads, the compiler checks shared types several times.
    await run(copy, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit', '--singleThreaded');
    const config = ['--config', 'test/vitest.config.ts', '--configLoader', 'runner', '--root', '.'];
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...config];
    // No run has a copy in the same place, so that none would read cached modules.
    await run(copy, ...vitest, '--experimental.fsModuleCache=false', '--maxWorkers', '1', ...tests);
  });
});

function replaceOnce(text: string, [found, by]: readonly [string, string]): string {
  expect(text.split(found).length, found).toBe(2);
  return text.replace(found, () => by);
}

/** Runs a script in the folder. Throws an error with its output if it fails. */
async function run(folder: string, ...script: readonly string[]): Promise<void> {
  const { VITEST: _, ...environment } = process.env;
  // The tests start no built process, and use the worlds of this run.
  const env = { ...environment, NO_COLOR: '1', TEST_BUILD: 'keep' };
  const options = { cwd: folder, env, maxBuffer: 100_000_000 };
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, script, options).then(
    (output) => ({ code: 0, ...output }),
    (thrown: { code: number; stdout: string; stderr: string }) => thrown,
  );
  if (code !== 0) throw new Error(`${script.join(' ')} ended with ${code}\n${stdout}\n${stderr}`);
}
