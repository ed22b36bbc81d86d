import { relative } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { EXIT } from '../../../base/errors.ts';
import type { Demo, DemoStage } from '../../../operations/demo.ts';
import { layoutOf } from '../../../snapshot/layout.ts';
import { invokedAs } from '../../output/invoked-as.ts';
import { count, duration, plural, printData, printJson, say, size } from '../../output/output.ts';
import { createSyncProgress } from '../../output/progress-line.ts';
import { formatRows } from '../../output/row-format.ts';
import { dataOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag } from '../../program/option-kinds.ts';

/** Size of the sandbox. The rate limit lets the demo end within a minute; the real one is 120 requests per minute. */
const SANDBOX = { brands: 2, prompts: 20, days: 60, rateLimit: 10_000, latencyMs: 15 };

export const demo = defineCommand({
  options: { dataDir: dataOptions.dataDir, json: flag('print the paths and query results as JSON') },
  examples: [
    ['sightline demo', 'run the demonstration in ./data/demo'],
    ['sightline demo --data-dir /tmp/trial', 'write its data to another folder'],
  ],
  run: async (unread, begin) => {
    const { flags, json, signal } = begin(unread);
    const startedAt = performance.now();
    const { startSandboxWorkspace } = await import('../../../../schemas/fixtures/start.ts');
    const { readEnvironment } = await import('../../../base/config/config.ts');
    const { runDemo } = await import('../../../operations/demo.ts');
    const folder = process.cwd();
    const { dataDir = null } = flags;
    const progress = createSyncProgress();
    const ran = await runDemo({
      dataDir,
      sources: { environment: readEnvironment(folder), folder },
      clock: systemClock,
      signal,
      startSandbox: () => startSandboxWorkspace(SANDBOX),
      onProgress: progress.update,
      onStage: (stage) => {
        if (stage.of === 'synced') progress.done();
        sayStage(stage);
      },
    }).finally(progress.done);
    if (json) {
      const { workspace, snapshot } = ran;
      const answers = ran.answers.map(({ title, result }) => ({ title, rows: JSON.parse(formatRows(result, 'json')) }));
      printJson('demo', { workspace, folder: ran.folder, snapshotId: snapshot.id, answers });
    } else {
      for (const { title, result } of ran.answers) printData(`\n${title}\n${formatRows(result, 'table')}`);
      printData(whatIsWhere(ran, dataDir));
    }
    say(`\nDone in ${duration(performance.now() - startedAt)}.`);
    return EXIT.done;
  },
});

function sayStage(stage: DemoStage): void {
  switch (stage.of) {
    case 'start':
      say('Starting a sandbox: a generated workspace with the real API, on this machine.');
      break;
    case 'sync':
      say('Syncing it into a warehouse:');
      break;
    case 'synced': {
      const { tables, requests, status } = stage.summary;
      const rows = Object.values(tables).reduce((sum, table) => sum + table.inserted, 0);
      say(`Synced ${count(rows)} rows with ${plural(requests, 'request')}: ${status}.`);
      break;
    }
    case 'exported': {
      const { tables } = stage.snapshot;
      const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
      say(`Exported ${plural(tables.length, 'table')} to Parquet, ${size(bytes)}.`);
    }
  }
}

function whatIsWhere({ workspace, folder }: Demo, dataDir: string | null): string {
  const layout = layoutOf(folder);
  const there = `--workspace ${workspace}${dataDir === null ? '' : ` --data-dir '${dataDir}'`}`;
  const shown = (path: string): string => relative(process.cwd(), path) || path;
  return `
Files:
  ${shown(layout.warehouse)}   the warehouse
  ${shown(layout.analytics)}   the replica for analysts: open it read-only with any DuckDB
  ${shown(layout.latest)}   the newest Parquet snapshot, for BI tools

Try a query:
  ${invokedAs()} sql ${there} "show tables"
  ${invokedAs()} sql ${there} --format csv "describe"`;
}
