import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const SOURCES = ['src', 'schemas', 'jobs', 'package.json', 'tsconfig.json', '.ci/build.mjs'];

/** Builds `dist`, which the tests of the command line run, if a source is newer. */
export default function buildIfStale(): void {
  const built = statSync(join(root, 'dist/src/cli/main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (SOURCES.every((path) => newestIn(join(root, path)) <= built)) return;
  execFileSync(process.execPath, [join(root, '.ci/build.mjs')], { stdio: 'inherit' });
}

function newestIn(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(...readdirSync(path).map((name) => newestIn(join(path, name))));
}
