import { systemClock } from '../../base/clock.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import {
  exportState,
  importState,
  readState,
  readStateFile,
  resetState,
  resolveScope,
} from '../../operations/state.ts';
import type { ProgressState } from '../../warehouse/ledger/progress-state.ts';
import { commandContext, readConfig, type WorkspaceFlags } from '../context.ts';
import { confirm } from '../output/confirm.ts';
import { plural, printData, say } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';
import { listOf } from '../program/flags.ts';

/** Flags of `state` and its commands. */
export interface StateFlags extends WorkspaceFlags {
  readonly resource?: readonly string[];
  readonly brand?: readonly string[];
  readonly yes?: boolean;
  readonly force?: boolean;
}

/** Runs `sightline state list` and returns its exit code. */
export async function listState(flags: StateFlags): Promise<number> {
  const { value, stale } = await readState(readConfig(flags), scopeOf(flags));
  if (flags.json === true) printData(JSON.stringify(value));
  else printData(toTable(value));
  noteStale(stale);
  return EXIT.done;
}

/** Runs `sightline state export` and returns its exit code. */
export async function exportStateCommand(path: string, flags: StateFlags): Promise<number> {
  const { stale, ...result } = await exportState(readConfig(flags), systemClock, path, flags.force === true);
  if (flags.json === true) printData(JSON.stringify(result));
  else
    say(
      `${plural(result.coverage, 'complete chain')} and ${plural(result.checkpoints, 'checkpoint')} written to ${path}`,
    );
  noteStale(stale);
  return EXIT.done;
}

/** Runs `sightline state import` and returns its exit code. */
export async function importStateCommand(path: string, flags: StateFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('state import', flags, signal);
  const file = readStateFile(path);
  const what = `this replaces the state of workspace ${context.config.name} with that in ${path} (${plural(file.coverage.length, 'chain')})`;
  if (!(await confirm(what, flags.yes === true, signal))) return nothingDone();
  const { coverage, checkpoints } = await importState(context, file, flags.force === true);
  if (flags.json === true) printData(JSON.stringify({ coverage: coverage.length, checkpoints: checkpoints.length }));
  else say(`${plural(coverage.length, 'chain')} and ${plural(checkpoints.length, 'checkpoint')} imported`);
  return EXIT.done;
}

/** Runs `sightline state reset` and returns its exit code. */
export async function resetStateCommand(flags: StateFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('state reset', flags, signal);
  const scope = await resolveScope(context.config, scopeOf(flags));
  const of = [
    ...(scope.resources === null ? [] : [scope.resources.join(', ')]),
    ...(scope.brands === null ? [] : [`brand ${scope.brands.join(', ')}`]),
  ];
  const part = of.length === 0 ? 'everything' : of.join(' of ');
  const what = `this deletes the sync state of ${part} in workspace ${context.config.name}, and the next sync fetches it again`;
  if (!(await confirm(what, flags.yes === true, signal))) return nothingDone();
  const chains = await resetState(context, scope);
  if (flags.json === true) printData(JSON.stringify({ chains }));
  else say(`${plural(chains, 'chain')} reset; no row was deleted, and the next sync fetches them again`);
  return EXIT.done;
}

/** Throws `usage` for a missing or unknown subcommand of `state`. */
export function refuseState(given: string | undefined): never {
  const problem = given === undefined ? 'requires a command' : `has no command ${JSON.stringify(given)}`;
  throw new SightlineError('usage', `state ${problem}; allowed: list, export, import, reset`);
}

function scopeOf(flags: StateFlags) {
  return { resources: listOf('--resource', flags.resource), brands: listOf('--brand', flags.brand) };
}

function nothingDone(): number {
  say('Nothing was changed.');
  return EXIT.failed;
}

function toTable({ coverage, checkpoints }: ProgressState): string {
  const keys = [...coverage, ...checkpoints].map(({ resource, brandId }) => JSON.stringify([resource, brandId]));
  const rows = [...new Set(keys)].sort().map((key) => {
    const [resource, brandId] = JSON.parse(key) as [string, string | null];
    const mine = <T extends { resource: string; brandId: string | null }>(list: readonly T[]): T[] =>
      list.filter((row) => row.resource === resource && row.brandId === brandId);
    const complete = mine(coverage);
    const days = complete.flatMap(({ from, to }) => (from === null || to === null ? [] : [from, to])).sort();
    const last = complete
      .map(({ closedAt }) => closedAt)
      .sort()
      .at(-1);
    const begun = new Set(mine(checkpoints).map(({ chain }) => chain)).size;
    const read = last === undefined ? '' : `${last.slice(0, 19).replace('T', ' ')}`;
    return [resource, brandId, complete.length, begun, days[0], days.at(-1), read];
  });
  const names = ['resource', 'brand', 'complete', 'unfinished', 'first day', 'last day', 'last read'];
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function noteStale(stale: boolean): void {
  if (stale) say('note: another process owns the warehouse; this is from the last published copy');
}
