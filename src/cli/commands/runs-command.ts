import { systemClock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { readNewestRuns } from '../../operations/status.ts';
import {
  findRuns,
  type ResourceCost,
  type RunCost,
  readResourceCosts,
  readRuns,
} from '../../warehouse/ledger/run-costs.ts';
import { readConfig, toInteger, type WorkspaceFlags } from '../context.ts';
import { duration, plural, printData, say, size } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';

const LIMIT_DEFAULT = '20';
const LIMIT_MAX = 10_000;
/** Characters of a run's ID that are shown. */
const SHORT_CHARACTERS = 8;

/** Flags of `runs`. */
export interface RunsFlags extends WorkspaceFlags {
  readonly limit?: string;
}

/** Runs `sightline runs` and returns its exit code. Lists all runs, or the resources of one. */
export async function runs(id: string | undefined, flags: RunsFlags): Promise<number> {
  const limit = toInteger('--limit', flags.limit ?? LIMIT_DEFAULT, 1, LIMIT_MAX);
  if (id !== undefined && flags.limit !== undefined) {
    throw new SightlineError('usage', '--limit cannot be combined with a run ID');
  }
  const config = readConfig(flags);
  if (id === undefined) return listRuns(config, limit, flags.json === true);
  if (!/^[0-9a-f][0-9a-f-]{0,35}$/i.test(id)) {
    throw new SightlineError(
      'usage',
      `${JSON.stringify(id)} is not a run ID; allowed: an ID listed by \`sightline runs\`, or its beginning`,
    );
  }
  return describeRun(config, id, flags.json === true);
}

async function listRuns(config: WorkspaceConfig, limit: number, json: boolean): Promise<number> {
  const { value, stale } = await readNewestRuns(config, systemClock, (query) => readRuns(query, limit));
  if (json) printData(JSON.stringify(value));
  else {
    const names = [
      'run',
      'kind',
      'trigger',
      'started',
      'status',
      'took',
      'requests',
      'retries',
      'new',
      'changed',
      'deleted',
      'per new row',
      'waited',
    ];
    const rows = value.map((run) => [
      run.runId.slice(0, SHORT_CHARACTERS),
      run.kind,
      run.trigger,
      `${run.startedAt.slice(0, 19).replace('T', ' ')}`,
      run.status,
      run.durationMs === null ? '' : duration(run.durationMs),
      run.requests,
      run.retries,
      run.inserted,
      run.updated,
      run.deleted,
      run.requestsPerNewRow,
      duration(run.waitedMs),
    ]);
    printData(formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table'));
  }
  noteStale(stale);
  return EXIT.done;
}

async function describeRun(config: WorkspaceConfig, id: string, json: boolean): Promise<number> {
  const { value: found, stale } = await readNewestRuns(config, systemClock, async (query) => {
    const found = await findRuns(query, id);
    const [run] = found;
    if (run === undefined) throw new SightlineError('usage', `unknown run ${id}; \`sightline runs\` lists them`);
    if (found.length > 1) {
      const ids = found.map(({ runId }) => runId).join(' and ');
      throw new SightlineError('usage', `several runs begin with ${id}: ${ids}; give more characters of the ID`);
    }
    return [{ ...run, resources: await readResourceCosts(query, run.runId) }];
  });
  const { resources, ...run } = found[0] as RunCost & { resources: ResourceCost[] };
  if (json) printData(JSON.stringify({ ...run, resources }));
  else printRun(run, resources);
  noteStale(stale);
  return EXIT.done;
}

function printRun(run: RunCost, resources: readonly ResourceCost[]): void {
  const names = [
    'resource',
    'requests',
    'rows',
    'new',
    'changed',
    'deleted',
    'wasted',
    'failures',
    'per new row',
    'size',
  ];
  const rows = resources.map((cost) => [
    cost.resource,
    cost.requests,
    cost.rows,
    cost.inserted,
    cost.updated,
    cost.deleted,
    cost.wasted,
    cost.failures,
    cost.requestsPerNewRow,
    size(cost.bytes),
  ]);
  printData(formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table'));
  const took = run.durationMs === null ? '' : ` in ${duration(run.durationMs)}`;
  say(
    `run ${run.runId} ${run.status}: ${plural(run.requests, 'request')}${took}, ${duration(run.waitedMs)} waiting, ${size(run.bytes)}; ${plural(run.wasted, 'page')} changed nothing`,
  );
  if (run.error !== null) say(run.error);
}

function noteStale(stale: boolean): void {
  if (stale) say('note: another process owns the warehouse; this is from the last published copy');
}
