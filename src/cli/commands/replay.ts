import { type ReplaySummary, replayWorkspace } from '../../app/replay.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { commandContext, toDayFlag, type WorkspaceFlags } from '../context.ts';
import { listOf } from '../flags.ts';
import { count, duration, plural, printData, say } from '../output.ts';
import { createLineProgress } from '../progress.ts';

/** Damages and tables that are listed one by one; the JSON has all. */
const LISTED_MAX = 10;
/** Pages between two lines of progress. */
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
    throw new SightlineError('usage', `--from ${from} is after --to ${to}; allowed: a day not after it`);
  if (flags.into === '') throw new SightlineError('usage', '--into names nothing; allowed: a new file');
  const only = listOf('--only', flags.only);
  const context = commandContext('replay', flags, signal);
  const progress = createLineProgress();
  const startedAt = performance.now();
  const request = { from, to, only, into: flags.into ?? null, acceptMissing: flags.acceptMissing === true };
  const summary = await replayWorkspace(context, request, (done, of) => {
    if (done % PROGRESS_STEP === 0) progress.update(`${count(done)} of ${plural(of, 'record')} replayed`);
  }).finally(progress.done);
  if (flags.json === true) printData(JSON.stringify(summary));
  const isHeldBack = request.into === null && !summary.replaced;
  describe(summary, performance.now() - startedAt, isHeldBack);
  if (flags.json !== true) printData(summary.path);
  return summary.status === 'complete' ? EXIT.done : EXIT.partial;
}

function describe(summary: ReplaySummary, elapsedMs: number, isHeldBack: boolean): void {
  const { status, files, pages, tables, quarantined, damages, missing, kept, path } = summary;
  const rows = Object.values(tables).reduce((sum, table) => sum + table.read, 0);
  const took = duration(elapsedMs);
  say(
    `replay ${status}: ${plural(pages, 'page')} of ${plural(files, 'file')}, ${plural(rows, 'row')} read in ${took}, without a request`,
  );
  if (quarantined > 0) say(`${plural(quarantined, 'item')} in quarantine: select * from sync.quarantine`);
  list(
    damages.map(({ file, position, page, message }) => `damaged: ${page ?? `byte ${position}`} in ${file}: ${message}`),
  );
  list(missing.map(({ table, rows: lost }) => `missing: ${plural(lost, 'row')} of ${table} that the warehouse has`));
  if (kept !== null) say(`the warehouse as it was is kept as ${kept}`);
  if (isHeldBack) say(`not put in place of the warehouse, which stays as it was: ${path} (see --accept-missing)`);
}

function list(lines: readonly string[]): void {
  for (const line of lines.slice(0, LISTED_MAX)) say(line);
  if (lines.length > LISTED_MAX) say(`and ${count(lines.length - LISTED_MAX)} more`);
}
