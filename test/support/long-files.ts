import { execFileSync } from 'node:child_process';

/** Number of parts into which the long files are divided. */
export const PARTS = 5;

/**
 * The test files that take two thirds of the time of a complete run, the longest first. `npm test` runs one part of them, which depends on
 * the number of commits, and `npm run test:all` runs all.
 */
export const LONG_FILES: readonly string[] = [
  'test/open-choices/open-choices.test.ts',
  'test/cli/json-outputs.test.ts',
  'test/web/matrix/page-matrix.test.ts',
  'test/damage/files.test.ts',
  'test/serve/mcp/tools.test.ts',
  'test/hostile/times.test.ts',
  'test/serve/http/api-role.test.ts',
  'test/web/report.test.ts',
  'test/serve/mcp/stdio.test.ts',
  'test/sync/proof.test.ts',
  'test/web/overview-page.test.ts',
  'test/sync/again.test.ts',
  'test/analytics/calibrate.test.ts',
  'test/sync/nights.test.ts',
  'test/web/rival-pages.test.ts',
  'test/cli/signals.test.ts',
  'test/sync/change.test.ts',
  'test/query/freshness.test.ts',
  'test/session/file-lock.test.ts',
  'test/cli/jobs.test.ts',
  'test/web/history-pages.test.ts',
  'test/operations/compare.test.ts',
  'test/serve/openapi-answers.test.ts',
  'test/sync/faults.test.ts',
  'test/cli/worker.test.ts',
  'test/cli/kills-commands.test.ts',
  'test/sync/replay.test.ts',
  'test/cli/commands.test.ts',
  'test/generic/settings.test.ts',
  'test/operations/full-disk.test.ts',
  'test/serve/mcp/bounds.test.ts',
  'test/packaging/tarball.test.ts',
  'test/query/metrics/reader-queries.test.ts',
  'test/cli/verify.test.ts',
  'test/cli/home.test.ts',
  'test/extending.test.ts',
  'test/warehouse/refresh-copy.test.ts',
  'test/generic/mirror.test.ts',
  'test/hostile/random.test.ts',
  'test/operations/export/incremental.test.ts',
  'test/sync/stops.test.ts',
  'test/sync/exact.test.ts',
  'test/damage/records.test.ts',
  'test/web/reader-pages.test.ts',
  'test/hostile/sample.test.ts',
  'test/query/differential.test.ts',
  'test/warehouse/history-sandbox.test.ts',
  'test/sync/interruption.test.ts',
  'test/cli/home-moves.test.ts',
  'test/serve/http/etags.test.ts',
  'test/serve/http/command.test.ts',
  'test/evaluation/evaluation.test.ts',
  'test/web/sql-page.test.ts',
  'test/sync/estimate.test.ts',
  'test/cli/truth.test.ts',
  'test/cli/publish.test.ts',
  'test/generic/hostile.test.ts',
  'test/analytics/marts.test.ts',
  'test/cli/kills.test.ts',
  'test/hostile/omissions.test.ts',
];

/** Returns the part of a run, from 0: that of `TEST_PART`, which counts from 1, or one that the number of commits chooses. */
export function partOfRun(): number {
  const chosen = process.env['TEST_PART'];
  if (chosen === undefined) return commits() % PARTS;
  const part = Number(chosen);
  if (!Number.isInteger(part) || part < 1 || part > PARTS)
    throw new RangeError(`TEST_PART is ${chosen}; allowed: 1 to ${PARTS}`);
  return part - 1;
}

/** Returns the number of commits; 0 outside of a repository. */
export function commits(): number {
  try {
    return Number(execFileSync('git', ['rev-list', '--count', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }));
  } catch {
    return 0;
  }
}

/** Returns the long files that are not in a part. */
export function leftOut(part: number): string[] {
  return LONG_FILES.filter((_, index) => index % PARTS !== part);
}
