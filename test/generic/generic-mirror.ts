import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Context,
  openContext,
  query,
  type SyncRequest,
  type SyncSummary,
  sync,
} from '../../src/operations/sightline.ts';
import { hurriedClock } from '../support/clocks.ts';
import type { Upstream } from './upstream.ts';

/** A row by column. */
export type Row = Readonly<Record<string, unknown>>;

/** A workspace that mirrors the test upstream, used through the entry for programs only. */
export interface GenericMirror {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly context: Context;
  sync(request?: SyncRequest): Promise<SyncSummary>;
  /** Runs SQL on the replica; the rows of each statement. */
  results(sql: string): Promise<Row[][]>;
  /** Runs one statement on the replica. */
  rows(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** Creates a workspace in a temporary folder, without probes of the calibration. Settings are written to its configuration file. */
export async function openGenericMirror(
  upstream: Pick<Upstream, 'baseUrl' | 'sandbox'>,
  nowMs: number,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<GenericMirror> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-generic-'));
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ calibration: { probes: 0 }, ...settings }));
  const environment = { SIGHTLINE_BASE_URL: upstream.baseUrl, SIGHTLINE_API_KEY: upstream.sandbox.key };
  const context = openContext({ folder, environment, clock: hurriedClock(() => nowMs) });
  const results = async (sql: string): Promise<Row[][]> => {
    const answers = await query(context, sql);
    return answers.map(({ columns, rows }) =>
      rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))),
    );
  };
  return {
    folder,
    environment,
    context,
    sync: (request) => sync(context, request),
    results,
    rows: async (sql) => (await results(sql))[0] ?? [],
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
