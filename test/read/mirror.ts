import { randomBytes } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { errorTable, SightlineError } from '../../src/base/errors.ts';
import type { Resource } from '../../src/contract/catalogue.ts';
import { calibrateConventions } from '../../src/metrics/calibration/calibrate.ts';
import type { Conventions } from '../../src/metrics/calibration/conventions.ts';
import { readConventions, readDoubts } from '../../src/metrics/calibration/findings.ts';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import { probeUpstream } from '../../src/operations/probe-upstream.ts';
import { createService } from '../../src/read/create-service.ts';
import type { MetricsSource, TableResult } from '../../src/read/metrics/table-result.ts';
import type { Question, Service } from '../../src/read/service.ts';
import { publishAnalytics, REPLICA_OPTIONS } from '../../src/warehouse/replica.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace, type TestWorkspace, type TestWorkspaceOptions } from '../support/workspace.ts';
import { originalOf } from '../support/worlds.ts';

/** Path of the replica in the folder of a world. */
const REPLICA = 'data/default/analytics.duckdb';

/** A budget that is never used up. */
const SPARE = { state: () => ({ limit: 120, capacity: 116, left: 100 }) };

/** A sandbox, its warehouse and replica, and the query layer of the read server. */
export interface Mirror extends TestWorkspace {
  readonly service: Service;
  /** Path of the replica. */
  readonly copy: string;
  /** Syncs, calibrates and publishes, like `sightline sync`. */
  publish(): Promise<void>;
  /** Calibrates and publishes the current data. */
  publishOnly(): Promise<void>;
  /** Sends a request to upstream. */
  upstream(path: string): Promise<Reply>;
  /** Sends the same request to the query layer. */
  mirror(path: string): Promise<Reply>;
}

/** A response from either side. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Options of a mirror. */
export type MirrorOptions = TestWorkspaceOptions & {
  /** Used instead of calibrating. */
  readonly conventions?: Conventions;
  /** Questions that a sync may ask upstream about open points; default: none. */
  readonly questionsMax?: number;
};

/** Opens a mirror of a small sandbox, which is published only if it is a world's; closed after the test. */
export async function openMirror({ conventions, questionsMax = 0, ...options }: MirrorOptions = {}): Promise<Mirror> {
  const workspace = await openWorkspace({ hasMarts: true, ...options });
  const copy = join(await temporaryFolder(), 'analytics.duckdb');
  if (options.world !== undefined) await copyFile(join(await originalOf(options.world), REPLICA), copy);
  const service = createService({
    catalogue: workspace.catalogue,
    path: copy,
    clock: workspace.clock,
    cursorSecret: randomBytes(32),
    replica: REPLICA_OPTIONS,
    readConventions: conventions === undefined ? readConventions : async () => conventions,
    readDoubts,
  });
  onTestFinished(() => service.close());
  const publishOnly = async (): Promise<void> => {
    const { database } = workspace.warehouse();
    const { catalogue, clock } = workspace;
    if (conventions === undefined) await calibrateConventions(database, { catalogue, now: clock.now() });
    await ensureViews(database, MART_SCHEMA, marts());
    await publishAnalytics(database, copy);
  };
  const publish = async (): Promise<void> => {
    const { catalogue, clock } = workspace;
    const parts = { catalogue, clock, database: workspace.warehouse().database, signal: new AbortController().signal };
    const summary = await workspace.sync({
      onRead: async (ask, stats) => {
        await probeUpstream({ ...parts, max: questionsMax, budget: SPARE, stats }, ask);
      },
    });
    // Without calibration, day counts may differ from the rows that count, so the run is partial although all rows were read.
    if (summary.status !== 'complete' && conventions === undefined) throw new Error(`the sync ended ${summary.status}`);
    await publishOnly();
  };
  const upstream = async (path: string): Promise<Reply> => {
    const response = await fetch(`${workspace.sandbox.baseUrl}${path}`, {
      headers: { Authorization: `Bearer ${workspace.sandbox.key}` },
    });
    return { status: response.status, body: await response.json() };
  };
  const mirror = (path: string): Promise<Reply> => replyOf(service, path);
  return { ...workspace, service, copy, publish, publishOnly, upstream, mirror };
}

/** Sends a request to the query layer by path, as an HTTP client would. */
async function replyOf(service: Service, path: string): Promise<Reply> {
  try {
    const question = await askService(service, path);
    const { body } = await question.answer();
    return { status: 200, body: JSON.parse(JSON.stringify(body)) };
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
    return { status: statusOf(thrown), body: { error: { code: thrown.code, message: thrown.message } } };
  }
}

/** Reads all pages of a list from the query layer; `path` has parameters. */
export async function itemsOf<T>({ mirror }: Pick<Mirror, 'mirror'>, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body } = await mirror(cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`);
    const page = body as { data: T[]; nextCursor: string | null };
    items.push(...page.data);
    cursor = page.nextCursor;
  }
  return items;
}

/** Returns the newest replica for the metrics layer, limited to brands if they are given. */
export async function sourceOf(
  { service, catalogue, clock }: Mirror,
  brands?: readonly string[],
): Promise<MetricsSource> {
  const source = { replica: await service.newest(), catalogue, nowMs: clock.now() };
  return brands === undefined ? source : { ...source, brands };
}

/** A row by the names of its columns. */
export type NamedRow = Record<string, unknown>;

/** Returns the rows of a table as objects. */
export function recordsOf({ columns, rows }: Pick<TableResult, 'columns' | 'rows'>): NamedRow[] {
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index]?.name ?? '', value])));
}

/** Resolves a request path with the query layer. */
export function askService(service: Service, path: string): Promise<Question> {
  const { pathname, search } = new URL(path, 'http://mirror.invalid');
  const [resource, parameters] = routeOf(service, pathname);
  return service.ask(resource, parameters, new URLSearchParams(search));
}

function routeOf(service: Service, pathname: string): [Resource, Record<string, string>] {
  for (const resource of service.catalogue.resources) {
    const names = [...resource.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
    const match = new RegExp(`^${resource.path.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname);
    if (match === null) continue;
    return [
      resource,
      Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')])),
    ];
  }
  throw new Error(`no route ${pathname}`);
}

function statusOf({ code }: SightlineError): number {
  const kind = errorTable[code];
  return 'status' in kind ? kind.status : 500;
}
