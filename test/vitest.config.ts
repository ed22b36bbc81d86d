import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { oneThread } from './support/short-lived.ts';
import { TimeReport } from './support/time-report.ts';

const root = join(import.meta.dirname, '..');

/** Starts a process, a server, a database server or a browser. */
const SLOW =
  /node:child_process|node:http'|node:net'|node:worker_threads|playwright|fixtures\/start\.ts|sandbox\/server\.ts|dist\/src/;

/** Has a count that is larger in an endurance run. */
const COUNTED = /support\/counts\.ts/;

/** The tests that start nothing, for the inner loop: `npm run test:fast`. */
const fastTests = (): string[] => allTests().filter((path) => !isOrImports(path, SLOW));

/** The tests that do more in `npm run test:endurance`. */
const enduringTests = (): string[] => allTests().filter((path) => isOrImports(path, COUNTED));

/** The tests of a mode; those of other modes are all. */
const PARTS: Readonly<Record<string, () => string[]>> = { fast: fastTests, endurance: enduringTests };

function allTests(): string[] {
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.test\.tsx?$/.test(name))
    .map((name) => join('test', name));
}

// Follows the imports of files of test/, because their helpers start most of what tests need.
function isOrImports(path: string, pattern: RegExp, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(join(root, path), 'utf8');
  if (pattern.test(text)) return true;
  const imported = [...text.matchAll(/from '(\.[^']+\.tsx?)'/g)].map(([, name]) => join(dirname(path), name as string));
  // Samples of code in tests name other files.
  return imported.some(
    (file) => file.startsWith('test/') && existsSync(join(root, file)) && isOrImports(file, pattern, seen),
  );
}

/** Returns the number of commits; 0 outside of a repository. */
function commits(): string {
  try {
    return execFileSync('git', ['rev-list', '--count', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '0';
  }
}

/** Whether this user may write to the checkout. Vitest caches modules and times in node_modules. */
function isWritable(): boolean {
  try {
    accessSync(join(root, 'node_modules'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const canCache = isWritable();
const seed = process.env['PROPERTY_SEED'] ?? commits();

/** Time limit of the run, for `npm run test:endurance` in CI. */
const LIMIT_S = process.env['TEST_LIMIT_S'] === undefined ? null : Number(process.env['TEST_LIMIT_S']);

export default defineConfig(({ mode }) => ({
  test: {
    include: PARTS[mode]?.() ?? ['test/**/*.test.{ts,tsx}'],
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
    // The totals come last.
    reporters: ['default', new TimeReport(LIMIT_S)],
    // Timeouts only catch hangs: they have to hold on a machine that is busy with other work. Larger counts take up to 30 times longer.
    testTimeout: mode === 'endurance' ? 3_600_000 : 240_000,
    hookTimeout: 240_000,
    pool: 'forks',
    // A worker runs many files: tests must restore what they change in the process, such as its environment. With a process per
    // file, loading and compiling the modules again takes a quarter of the CPU time.
    isolate: false,
    experimental: { fsModuleCache: canCache },
    env: {
      ...oneThread(),
      PROPERTY_SEED: seed,
      ...(mode === 'endurance' ? { TEST_ENDURANCE: '1' } : {}),
    },
    // With a time limit, other files are the last ones for each commit.
    sequence: { shuffle: { files: mode === 'endurance' }, seed: Number(seed) },
    execArgv: ['--max-semi-space-size=32'],
    // Tests often wait for the disk or for another process, so that one worker per core leaves cores idle. Two more than cores take
    // 6 % longer than one more.
    maxWorkers: availableParallelism() + 1,
  },
}));
