import { EXIT, SightlineError } from '../../../base/errors.ts';
import { shownTime } from '../../../contract/time.ts';
import type { ResourceCost, RunCost } from '../../../warehouse/ledger/run-costs.ts';
import { duration, plural, printData, printJson, say, size } from '../../output/output.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { argument, integer } from '../../program/option-kinds.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 10_000;
/** Characters of a run's ID that are shown. */
const SHORT_CHARACTERS = 8;

export const runs = defineCommand({
  arguments: { id: argument('[id]', 'ID of a run, or its beginning') },
  options: {
    ...workspaceOptions,
    limit: integer('<number>', 'maximum number of runs to list (default: 20)', 1, LIMIT_MAX),
  },
  examples: [
    ['sightline runs --limit 5', 'list the last 5 runs'],
    ['sightline runs 0199ab12', 'show one run by resource'],
  ],
  run: async ({ id, limit, ...unread }, begin) => {
    const { config, json } = begin(unread);
    if (id !== null && limit !== null) {
      throw new SightlineError('usage', '--limit cannot be combined with a run ID');
    }
    const { listRuns, readRun } = await import('../../../operations/list-runs.ts');
    if (id === null) {
      const { value, stale } = await listRuns(await config(), terminal().clock, limit ?? LIMIT_DEFAULT);
      if (json) printJson('runs', value);
      else printData(toTable(value));
      noteStale(stale);
      return EXIT.done;
    }
    const { value, stale } = await readRun(await config(), terminal().clock, id);
    if (json) printJson('runs id', { ...value.run, resources: value.resources });
    else printRun(value.run, value.resources);
    noteStale(stale);
    return EXIT.done;
  },
});

function toTable(runs: readonly RunCost[]): string {
  const names = [
    'run',
    'kind',
    'trigger',
    'started',
    'status',
    'took',
    'requests',
    'retries',
    'inserted',
    'updated',
    'deleted',
    'per inserted row',
    'waited',
  ];
  const rows = runs.map((run) => [
    run.runId.slice(0, SHORT_CHARACTERS),
    run.kind,
    run.trigger,
    shownTime(run.startedAt),
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
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function printRun(run: RunCost, resources: readonly ResourceCost[]): void {
  const names = [
    'resource',
    'requests',
    'rows',
    'inserted',
    'updated',
    'deleted',
    'wasted',
    'failures',
    'per inserted row',
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
  if (stale) say('note: another process owns the warehouse; this is from the replica');
}
