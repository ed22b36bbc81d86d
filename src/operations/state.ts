import { existsSync, readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { catalogueOf } from '../session/catalogues.ts';
import { noData } from '../session/newest-replica.ts';
import { withSession } from '../session/session.ts';
import { type Context, type Opened, publish, withWarehouse } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { Query } from '../warehouse/database.ts';
import {
  type ProgressState,
  readProgressState,
  replaceProgressState,
  resetProgressState,
  type StateScope,
} from '../warehouse/ledger/progress-state.ts';
import { chooseBrandIds, readBrandNames } from './choose-brands.ts';
import { chooseResources } from './choose-resources.ts';
import { checkNotOwnFile } from './own-files.ts';
import { readNewestReplica } from './status.ts';

/** Value of `format` in a state file. */
const FORMAT = 'sightline-state';
const VERSION = 1;
const EVERYTHING: StateScope = { resources: null, brands: null };

const day = z.iso.date().nullable();
const moment = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/);
const scope = {
  chain: z.string().min(1),
  resource: z.string().min(1),
  brandId: z.guid().nullable(),
  from: day,
  to: day,
  passId: z.guid(),
};
const fileSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  workspace: z.string(),
  exportedAt: moment,
  brands: z.array(z.guid()),
  coverage: z.array(
    z.strictObject({ ...scope, runId: z.guid(), closedAt: moment, rows: z.int().min(0), state: z.string().nullable() }),
  ),
  checkpoints: z.array(
    z.strictObject({
      ...scope,
      page: z.int().min(1),
      table: z.string().min(1),
      next: z.string().nullable(),
      seen: z.array(z.string()),
      unidentified: z.int().min(0),
      readAt: moment,
    }),
  ),
});

type StateFile = z.infer<typeof fileSchema>;

/** Reads a workspace's sync state, or part of it. `stale` means it is from the last replica. Throws `usage` for unknown names. */
export async function readState(config: WorkspaceConfig, wanted: StateScope) {
  return readNewestReplica(config, async (query) => {
    return readProgressState(query, await toScope(query, catalogueOf(config), wanted));
  });
}

/** The sync state of a resource: the numbers of its slices, the days of complete ones, and when the last was read (ISO 8601). */
export interface StateOfResource {
  readonly resource: string;
  readonly brandId: string | null;
  readonly complete: number;
  readonly unfinished: number;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  readonly closedAt: string | null;
}

/** Counts the slices of a sync state by resource and brand. */
export function summarizeState({ coverage, checkpoints }: ProgressState): StateOfResource[] {
  const keys = [...coverage, ...checkpoints].map(({ resource, brandId }) => JSON.stringify([resource, brandId]));
  return [...new Set(keys)].sort().map((key) => {
    const [resource, brandId] = JSON.parse(key) as [string, string | null];
    const mine = <T extends { resource: string; brandId: string | null }>(rows: readonly T[]): T[] =>
      rows.filter((row) => row.resource === resource && row.brandId === brandId);
    const complete = mine(coverage);
    const days = complete.flatMap(({ from, to }) => (from === null || to === null ? [] : [from, to])).sort();
    const times = complete.map(({ closedAt }) => closedAt).sort();
    return {
      resource,
      brandId,
      complete: complete.length,
      unfinished: new Set(mine(checkpoints).map(({ chain }) => chain)).size,
      firstDay: days[0] ?? null,
      lastDay: days.at(-1) ?? null,
      closedAt: times.at(-1) ?? null,
    };
  });
}

/** Replaces the names of a scope by ids, so that a mistake is reported before a question. Throws `usage` and `no_data`. */
export async function resolveScope(config: WorkspaceConfig, wanted: StateScope): Promise<StateScope> {
  return (await readNewestReplica(config, (query) => toScope(query, catalogueOf(config), wanted))).value;
}

async function toScope(query: Query, catalogue: Catalogue, { resources, brands }: StateScope): Promise<StateScope> {
  return {
    resources: chooseResources(catalogue, resources),
    brands: chooseBrandIds(await readBrandNames(query, catalogue, { deleted: true }), brands),
  };
}

/** Writes a workspace's sync state to a file. Throws `usage` if the file exists, unless `force`. */
export async function writeState(config: WorkspaceConfig, clock: Clock, path: string, force: boolean) {
  await checkNotOwnFile(config.folder, path, path);
  if (existsSync(path) && !force) {
    throw new SightlineError('usage', `${path} already exists; --force overwrites it`);
  }
  const { value: state, stale } = await readState(config, EVERYTHING);
  const brands = [...new Set(state.coverage.flatMap(({ brandId }) => brandId ?? []))].sort();
  const exportedAt = new Date(clock.now()).toISOString();
  const file: StateFile = {
    format: FORMAT,
    version: VERSION,
    workspace: config.name,
    exportedAt,
    brands,
    coverage: [...state.coverage],
    checkpoints: state.checkpoints.map((row) => ({ ...row, seen: [...row.seen] })),
  };
  const aside = `${path}.${process.pid}`;
  try {
    await writeFile(aside, `${JSON.stringify(file, null, 1)}\n`, { flag: 'wx' });
    await rename(aside, path);
  } catch (thrown) {
    await rm(aside, { force: true });
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EISDIR' && code !== 'ENOTDIR') throw thrown;
    throw new SightlineError('usage', `cannot write ${path} (${code})`, { cause: thrown });
  }
  return { path, coverage: file.coverage.length, checkpoints: file.checkpoints.length, stale };
}

/** Reads and validates a state file. Throws `usage` with the reason and its location. */
export function readStateFile(path: string, catalogue: Catalogue): StateFile {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw new SightlineError(
      'usage',
      code === undefined ? `${path} is not JSON: ${message}` : `cannot read ${path} (${code})`,
      {
        cause: thrown,
      },
    );
  }
  const version = (json as { version?: unknown } | null)?.version;
  if ((json as { format?: unknown } | null)?.format === FORMAT && version !== VERSION) {
    throw new SightlineError('usage', `${path} has version ${String(version)}; allowed: ${VERSION}`);
  }
  const parsed = fileSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const location = issue?.path.join('.') || 'the file';
    throw new SightlineError('usage', `${path} is not a file of \`state export\`: ${location}: ${issue?.message}`);
  }
  for (const { resource } of [...parsed.data.coverage, ...parsed.data.checkpoints])
    checkResource(catalogue, path, resource);
  return parsed.data;
}

/** Replaces a workspace's sync state with that of a file. Throws `usage` if the file has unknown brands, unless `force`. */
export async function replaceState(context: Context, file: StateFile, force: boolean): Promise<ProgressState> {
  return changing(context, async (opened) => {
    const stored = await opened.warehouse.database.exclusive(({ query }) =>
      readBrandNames(query, opened.warehouse.catalogue),
    );
    const known = stored.map(({ id }) => id);
    const named = new Set([...file.brands, ...file.coverage.flatMap(({ brandId }) => brandId ?? [])]);
    const strange = [...named].filter((id) => !known.includes(id.toLowerCase()));
    if (strange.length > 0 && !force) {
      const origin = file.workspace === context.config.name ? '' : ` of workspace ${file.workspace}`;
      const message = `the file${origin} has brands that workspace ${context.config.name} does not have, such as ${strange[0]}; --force imports it anyway`;
      throw new SightlineError('usage', message);
    }
    await replaceProgressState(opened.warehouse.database, file);
    await opened.warehouse.recordRun({ kind: 'import', trigger: context.trigger ?? 'command' }, context.clock.now());
    return file;
  });
}

/** Deletes the sync state of a workspace, or part of it. Returns the number of deleted slices. Throws `usage`. */
export async function resetState(context: Context, wanted: StateScope): Promise<number> {
  return changing(context, async ({ warehouse: { database, catalogue } }) => {
    const checked = await database.exclusive(({ query }) => toScope(query, catalogue, wanted));
    return resetProgressState(database, checked);
  });
}

function changing<T>(context: Context, work: (opened: Opened) => Promise<T>): Promise<T> {
  return withSession(context, 'wait', (inside) => change(inside, work));
}

async function change<T>(context: Context, work: (opened: Opened) => Promise<T>): Promise<T> {
  if (!existsSync(layoutOf(context.config.folder).warehouse)) throw noData(context.config);
  return withWarehouse(context, {}, async (opened) => {
    const result = await work(opened);
    opened.copy.isCurrent = false;
    await publish(opened.warehouse, opened.layout, opened.copy);
    return result;
  });
}

function checkResource(catalogue: Catalogue, path: string, name: string): void {
  if (catalogue.resources.some((resource) => resource.name === name)) return;
  const names = catalogue.resources.map((resource) => resource.name).join(', ');
  throw new SightlineError('usage', `${path}: unknown resource ${JSON.stringify(name)}; allowed: ${names}`);
}
