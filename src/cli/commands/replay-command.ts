import { EXIT, SightlineError } from '../../base/errors.ts';
import { type ReplaySummary, replayWorkspace } from '../../operations/replay.ts';
import { commandContext, toDayFlag, type WorkspaceFlags } from '../context.ts';
import { count, duration, plural, printData, say } from '../output/output.ts';
import { createLineProgress } from '../output/progress-line.ts';
import { listOf } from '../program/flags.ts';

/** Damaged pages and tables with missing rows that are listed one by one. The JSON has all of them. */
const LISTED_MAX = 10;
/** Pages between two updates of the progress. */
const PROGRESS_STEP = 25;

/** Flags of `replay`. */
export interface ReplayFlags extends WorkspaceFlags {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
  readonly into?: string;
  readonly acceptMissing?: boolean;
}

/** Runs `sightline replay` and returns its exit code. */
export async function replay(flags: ReplayFlags, signal: AbortSignal): Promise<number> {
  const from = flags.from === undefined ? null : toDayFlag('--from', flags.from);
  const to = flags.to === undefined ? null : toDayFlag('--to', flags.to);
  if (from !== null && to !== null && from > to)
    throw new SightlineError('usage', `--from ${from} is after --to ${to}; allowed: the same day or an earlier one`);
  if (flags.into === '') throw new SightlineError('usage', '--into is empty; allowed: a new file');
  const only = listOf('--only', flags.only);
  const context = commandContext('replay', flags, signal);
  const progress = createLineProgress();
  const startedAt = performance.now();
  const request = { from, to, only, into: flags.into ?? null, acceptMissing: flags.acceptMissing === true };
  const summary = await replayWorkspace(context, request, (done, of) => {
    if (done % PROGRESS_STEP === 0) progress.update(`${count(done)} of ${plural(of, 'record')} replayed`);
  }).finally(progress.done);
  if (flags.json === true) printData(JSON.stringify(summary));
  const isRejected = request.into === null && !summary.replaced;
  describe(summary, performance.now() - startedAt, isRejected);
  if (flags.json !== true) printData(summary.path);
  return summary.status === 'complete' ? EXIT.done : EXIT.partial;
}

function describe(summary: ReplaySummary, elapsedMs: number, isRejected: boolean): void {
  const { status, files, pages, tables, quarantined, damages, missing, kept, path } = summary;
  const rows = Object.values(tables).reduce((sum, table) => sum + table.read, 0);
  const took = duration(elapsedMs);
  say(
    `replay ${status}: ${plural(pages, 'page')} of ${plural(files, 'file')}, ${plural(rows, 'row')} read in ${took}, without requests`,
  );
  if (quarantined > 0) say(`${plural(quarantined, 'item')} in quarantine; see select * from sync.quarantine`);
  list(
    damages.map(({ file, position, page, message }) => `damaged: ${page ?? `byte ${position}`} in ${file}: ${message}`),
  );
  list(missing.map(({ table, rows: lost }) => `missing: ${plural(lost, 'row')} of ${table} that the warehouse has`));
  if (kept !== null) say(`the old warehouse is kept as ${kept}`);
  if (isRejected) say(`the warehouse is unchanged; the new file is ${path} (use it with --accept-missing)`);
}

function list(lines: readonly string[]): void {
  for (const line of lines.slice(0, LISTED_MAX)) say(line);
  if (lines.length > LISTED_MAX) say(`and ${count(lines.length - LISTED_MAX)} more`);
}
