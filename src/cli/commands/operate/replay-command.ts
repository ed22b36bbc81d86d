import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { ReplaySummary } from '../../../operations/replay.ts';
import { count, duration, plural, printData, printJson, say } from '../../output/output.ts';
import { createProgress } from '../../output/progress-line.ts';
import { checkOrder, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { day, flag, list, option } from '../../program/option-kinds.ts';

/** Damaged pages and tables with missing rows that are listed one by one. The JSON has all of them. */
const LISTED_MAX = 10;
export const replay = defineCommand({
  options: {
    ...workspaceOptions,
    from: day('first day on which pages were received, YYYY-MM-DD (default: the first stored)'),
    to: day('last day on which pages were received, YYYY-MM-DD (default: the last stored)'),
    only: list('<resources...>', 'only these resources and those that fill the same tables'),
    into: option('<file>', 'build a new file and do not change the warehouse', toNewFile),
    acceptMissing: flag('replace the warehouse even if the new one lacks some of its rows'),
  },
  exits: '3 if the new file lacks rows of the warehouse, which then stays unchanged.',
  examples: [
    ['sightline replay', 'rebuild the warehouse from all stored pages'],
    ['sightline replay --only responses --into rebuilt.duckdb', 'rebuild some tables in another file'],
  ],
  run: async ({ from, to, only, into, acceptMissing, ...unread }, begin) => {
    const { context, json, signal } = begin(unread);
    checkOrder(from, to);
    const { replayWorkspace } = await import('../../../operations/replay.ts');
    const progress = createProgress(
      signal,
      (done: number, of: number) => `${count(done)} of ${plural(of, 'record')} replayed`,
    );
    const startedAt = performance.now();
    const request = { from, to, only, into, acceptMissing };
    const summary = await replayWorkspace(await context(), request, progress.update).finally(progress.done);
    if (json) printJson('replay', summary);
    const isRejected = into === null && !summary.replaced;
    describe(summary, performance.now() - startedAt, isRejected);
    if (!json) printData(summary.path);
    return summary.status === 'complete' ? EXIT.done : EXIT.partial;
  },
});

function toNewFile(given: string): string {
  if (given !== '') return given;
  throw new SightlineError('usage', '--into is empty; allowed: a new file');
}

function describe(summary: ReplaySummary, elapsedMs: number, isRejected: boolean): void {
  const { status, files, pages, tables, quarantined, damages, missing, kept, path } = summary;
  const rows = Object.values(tables).reduce((sum, table) => sum + table.read, 0);
  const took = duration(elapsedMs);
  say(
    `replay ${status}: ${plural(pages, 'page')} of ${plural(files, 'file')}, ${plural(rows, 'row')} read in ${took}, without requests`,
  );
  if (quarantined > 0) say(`${plural(quarantined, 'item')} in quarantine; see select * from sync.quarantine`);
  sayFirst(
    damages.map(({ file, position, page, message }) => `damaged: ${page ?? `byte ${position}`} in ${file}: ${message}`),
  );
  sayFirst(
    missing.map(({ table, rows: lost }) => `missing: ${plural(lost, 'row')} of ${table} that the warehouse has`),
  );
  if (kept !== null) say(`the old warehouse is kept as ${kept}`);
  if (isRejected) say(`the warehouse is unchanged; the new file is ${path} (use it with --accept-missing)`);
}

function sayFirst(lines: readonly string[]): void {
  for (const line of lines.slice(0, LISTED_MAX)) say(line);
  if (lines.length > LISTED_MAX) say(`and ${count(lines.length - LISTED_MAX)} more`);
}
