import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { startSandboxWorkspace } from '../../../schemas/fixtures/start.ts';
import { questions } from '../../analytics/numbers/questions.ts';
import { systemClock } from '../../base/clock.ts';
import { DEMO_WORKSPACE, loadConfig, readEnvironment } from '../../base/config/config.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder } from '../../base/files.ts';
import { exportWorkspace } from '../../operations/export.ts';
import { queryWorkspace } from '../../operations/query.ts';
import { syncWorkspace } from '../../operations/sync.ts';
import type { Context } from '../../session/workspace.ts';
import { layoutOf } from '../../snapshot/layout.ts';
import type { QueryResult } from '../../warehouse/reader.ts';
import { count, duration, plural, printData, say, size } from '../output/output.ts';
import { createSyncProgress } from '../output/progress-line.ts';
import { formatRows } from '../output/row-format.ts';

/** Marks a folder that a demo created and the next demo may replace. */
const MARKER = '.demo';

/** Flags of `demo`. */
export interface DemoFlags {
  readonly dataDir?: string;
  readonly json?: boolean;
}

/** Runs `sightline demo`: a sandbox, a sync, a snapshot and three queries. Keeps the data. */
export async function demo(flags: DemoFlags, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const settings = {
    flags: { ...flags, workspace: DEMO_WORKSPACE },
    environment: { SIGHTLINE_DATA_DIR: readEnvironment(process.cwd())['SIGHTLINE_DATA_DIR'] },
    folder: process.cwd(),
  };
  await prepareFolder(loadConfig(settings).folder);
  say('Starting a sandbox: a generated workspace with the real API, on this machine.');
  // The rate limit is raised so that the demo ends within a minute; the real one is 120 requests per minute.
  const sandbox = await startSandboxWorkspace({ brands: 2, prompts: 20, days: 60, rateLimit: 10_000, latencyMs: 15 });
  try {
    const config = loadConfig({
      ...settings,
      flags: { ...settings.flags, baseUrl: sandbox.baseUrl },
      environment: { ...settings.environment, SIGHTLINE_API_KEY: sandbox.key },
    });
    const context: Context = { config, clock: systemClock, signal, command: 'demo' };
    await syncDemo(context);
    const snapshot = await exportWorkspace(context, () => undefined);
    const bytes = snapshot.tables.reduce((sum, table) => sum + table.bytes, 0);
    say(`Exported ${plural(snapshot.tables.length, 'table')} to Parquet, ${size(bytes)}.`);
    const answers = [];
    for (const { title, sql } of questions) {
      const [result] = await queryWorkspace(config, sql);
      answers.push({ title, result: result as QueryResult });
    }
    if (flags.json === true) {
      const rowsOf = (result: QueryResult): unknown => JSON.parse(formatRows(result, 'json'));
      const shown = answers.map(({ title, result }) => ({ title, rows: rowsOf(result) }));
      printData(
        JSON.stringify({ workspace: DEMO_WORKSPACE, folder: config.folder, snapshotId: snapshot.id, answers: shown }),
      );
    } else {
      for (const { title, result } of answers) printData(`\n${title}\n${formatRows(result, 'table')}`);
      printData(whatIsWhere(config.folder, flags));
    }
    say(`\nDone in ${duration(performance.now() - startedAt)}.`);
    return EXIT.done;
  } finally {
    await sandbox.close();
  }
}

async function syncDemo(context: Context): Promise<void> {
  const progress = createSyncProgress();
  say('Syncing it into a warehouse:');
  const summary = await syncWorkspace(context, { only: null, range: null, brands: null }, progress.update).finally(
    progress.done,
  );
  if (summary.error !== null) throw summary.error;
  const rows = Object.values(summary.tables).reduce((sum, table) => sum + table.inserted, 0);
  say(`Synced ${count(rows)} rows with ${plural(summary.requests, 'request')}: ${summary.status}.`);
}

async function prepareFolder(folder: string): Promise<void> {
  if (existsSync(folder) && !existsSync(join(folder, MARKER))) {
    throw new SightlineError('usage', `${folder} was not created by a demo; choose another folder with --data-dir`);
  }
  await rm(folder, { recursive: true, force: true });
  await ensureWritableFolder(folder);
  await writeFile(join(folder, MARKER), 'Created by `sightline demo`, which replaces this folder.\n');
}

function whatIsWhere(folder: string, { dataDir }: DemoFlags): string {
  const layout = layoutOf(folder);
  const there = `--workspace ${DEMO_WORKSPACE}${dataDir === undefined ? '' : ` --data-dir '${dataDir}'`}`;
  const shown = (path: string): string => relative(process.cwd(), path) || path;
  return `
Files:
  ${shown(layout.warehouse)}   the warehouse
  ${shown(layout.analytics)}   a copy for analysts: open it read-only with any DuckDB
  ${shown(layout.latest)}   the newest Parquet snapshot, for BI tools

Try a query:
  npx sightline sql ${there} "show tables"
  npx sightline sql ${there} --format csv "describe"`;
}
