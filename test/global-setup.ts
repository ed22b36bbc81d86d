import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopSharedPostgres } from './support/postgres.ts';

const root = join(import.meta.dirname, '..');
const SOURCES = ['src', 'schemas', 'jobs', 'package.json', 'tsconfig.json', '.ci/build.mjs'];
/** Files that decide what is in a world, without the pages for browsers. */
const WORLD_SOURCES = ['src', 'schemas', 'jobs', 'test/support/worlds.ts'];
const PAGES = 'src/web';
/** Folder in memory, if it has room for the temporary files of a run. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 4e9;
/** How long worlds that no run uses are kept: longer than a run, which uses those of one version of the code. */
const KEPT_MS = 7_200_000;

/**
 * Builds `dist` if a source is newer, for the tests of the command line as a process; not with TEST_BUILD=keep. Makes a folder for the temporary files of this run, in
 * memory if possible, and finds the folder of the worlds.
 */
export default function prepareRun(): () => Promise<void> {
  if (process.env['TEST_BUILD'] !== 'keep') buildIfStale();
  const base = temporaryBase();
  const run = mkdtempSync(join(base, 'sightline-tests-'));
  // Tests of root start processes of other users, which have folders in it.
  if (process.getuid?.() === 0) chmodSync(run, 0o711);
  process.env['TMPDIR'] = run;
  process.env['TEST_WORLDS'] = worldsFolder(base) ?? join(run, 'worlds');
  process.env['TEST_OUTPUT'] = outputFolder() ?? join(run, 'output');
  mkdirSync(process.env['TEST_WORLDS'], { recursive: true });
  utimesSync(process.env['TEST_WORLDS'], new Date(), new Date());
  return async () => {
    await stopSharedPostgres(run);
    // Browsers may still write while they end.
    rmSync(run, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  };
}

function buildIfStale(): void {
  const built = statSync(join(root, 'dist/src/cli/main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (SOURCES.every((path) => newestIn(join(root, path)) <= built)) return;
  execFileSync(process.execPath, [join(root, '.ci/build.mjs')], { stdio: 'inherit' });
}

function newestIn(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(...readdirSync(path).map((name) => newestIn(join(path, name))));
}

function temporaryBase(): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= MEMORY_BYTES_MIN) return MEMORY;
  } catch {
    // Not on Linux, or not allowed here.
  }
  return tmpdir();
}

// Returns null if this user cannot write to the checkout.
function outputFolder(): string | null {
  const folder = join(root, 'test/output');
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return null;
  }
}

// Returns null if the folder belongs to another user.
function worldsFolder(base: string): string | null {
  const folder = join(base, `sightline-worlds-${process.getuid?.() ?? ''}`);
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== (process.getuid?.() ?? stats.uid)) return null;
  for (const version of readdirSync(folder)) {
    const path = join(folder, version);
    if (statSync(path).mtimeMs < Date.now() - KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
  const sources = process.env['TEST_WORLDS_OF'] ?? root;
  return join(folder, hashOf(sources, WORLD_SOURCES));
}

function hashOf(sources: string, paths: readonly string[]): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    if (path === PAGES) return;
    const full = join(sources, path);
    if (!statSync(full).isDirectory()) hash.update(path).update(readFileSync(full));
    else for (const name of readdirSync(full).sort()) add(join(path, name));
  };
  for (const path of paths) add(path);
  return hash.digest('hex').slice(0, 16);
}
