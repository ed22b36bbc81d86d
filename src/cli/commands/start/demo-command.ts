import { relative } from 'node:path';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { Demo, DemoStage } from '../../../operations/demo.ts';
import { layoutOf } from '../../../publish/snapshot/layout.ts';
import type { Context } from '../../../workspace/workspace.ts';
import { invokedAs } from '../../output/invoked-as.ts';
import { count, duration, plural, printData, printJson, say, size } from '../../output/output.ts';
import { createSyncProgress } from '../../output/progress-line.ts';
import { formatRows } from '../../output/row-format.ts';
import { terminal } from '../../output/terminal.ts';
import { dataOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, integer, withDefault } from '../../program/option-kinds.ts';

/**
 * The sandbox. The rate limit lets the demo end within a minute; the real one is 120 requests per minute. With websites of
 * competitors, the owners of cited domains are known.
 */
const SANDBOX = {
  brands: 2,
  prompts: 20,
  rateLimit: 10_000,
  latencyMs: 15,
  choices: { websites: 'cited' },
} as const;

/** Settings of the server of the demo. Its jobs do not run, because the sandbox ends with it. */
const SERVED = {
  host: '127.0.0.1',
  metricsPort: null,
  rateLimit: 120,
  corsOrigins: [],
  allowedHosts: [],
  logLevel: 'warn',
  queryTimeoutMs: 30_000,
  pages: 'key',
  runsJobs: false,
} as const;

export const demo = defineCommand({
  options: {
    dataDir: dataOptions.dataDir,
    days: withDefault(integer('<number>', 'days of generated data', 1, 365), '60'),
    serve: flag('serve the data pages with the generated data until Ctrl-C'),
    port: withDefault(integer('<port>', 'port of the data pages, or 0 for any', 0, 65_535), '4000'),
    json: flag('print the paths and query results as JSON'),
  },
  examples: [
    ['sightline demo', 'run the demonstration in ./data/demo'],
    ['sightline demo --serve', 'show the generated data in a browser'],
  ],
  run: async ({ days, serve, port, ...unread }, begin) => {
    const { flags, json, signal } = begin(unread);
    if (serve && json) throw new SightlineError('usage', '--serve cannot be combined with --json');
    if (serve) await checkPort(port);
    const startedAt = performance.now();
    const { startSandboxWorkspace } = await import('../../../../schemas/fixtures/start.ts');
    const { readSurroundings } = await import('../../context.ts');
    const { runDemo } = await import('../../../operations/demo.ts');
    const { dataDir = null } = flags;
    const progress = createSyncProgress(signal);
    const ran = await runDemo({
      dataDir,
      sources: readSurroundings(),
      clock: terminal().clock,
      signal,
      startSandbox: () => startSandboxWorkspace({ ...SANDBOX, days }),
      ...(serve ? { use: (ran, context) => serveDemo(ran, context, port, dataDir) } : {}),
      onProgress: progress.update,
      onStage: (stage) => {
        if (stage.of === 'synced') progress.done();
        sayStage(stage);
      },
    }).finally(progress.done);
    if (serve) return EXIT.done;
    if (json) printDemoJson(ran);
    else printDemo(ran, dataDir);
    say(`\nDone in ${duration(performance.now() - startedAt)}.`);
    return EXIT.done;
  },
});

// Called first, because the demo takes long.
async function checkPort(port: number): Promise<void> {
  const { listening } = await import('../../listening.ts');
  const { listenBriefly } = await import('../../../serve/serve-workspace.ts');
  await listening({ port }, () => listenBriefly(SERVED.host, port));
}

/** Prints the paths and query results of a demo as JSON. */
export function printDemoJson({ workspace, folder, snapshot, answers }: Demo): void {
  const printed = answers.map(({ title, result }) => ({ title, rows: JSON.parse(formatRows(result, 'json')) }));
  printJson('demo', { workspace, folder, snapshotId: snapshot.id, answers: printed });
}

function printDemo(ran: Demo, dataDir: string | null): void {
  for (const { title, result } of ran.answers) printData(`\n${title}\n${formatRows(result, 'table')}`);
  printData(whatIsWhere(ran, dataDir));
}

// Serves the workspace of the demo with a sign-in link until the signal is aborted. The link is printed even without a terminal,
// because the data are generated.
async function serveDemo(ran: Demo, context: Context, port: number, dataDir: string | null): Promise<void> {
  const { listening } = await import('../../listening.ts');
  const { openTerminalLog } = await import('../../output/terminal-log.ts');
  const { serveWorkspace } = await import('../../../serve/serve-workspace.ts');
  const { signal, clock } = context;
  const log = await openTerminalLog('warn', clock);
  const server = await listening({ port }, () => serveWorkspace(context, { ...SERVED, port, log }));
  printDemo(ran, dataDir);
  say(`\nServing the demo until Ctrl-C. Sign in once, within 10 minutes:\n  ${await server.signInUrl()}`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
  log.stream.flush();
}

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
  const shown = (path: string): string => relative(terminal().folder, path) || path;
  return `
Files:
  ${shown(layout.warehouse)}   the warehouse
  ${shown(layout.analytics)}   the replica for analysts: open it read-only with any DuckDB
  ${shown(layout.latest)}   the newest Parquet snapshot, for BI tools

Try a query:
  ${invokedAs()} sql ${there} "show tables"
  ${invokedAs()} sql ${there} --format csv "describe"`;
}
