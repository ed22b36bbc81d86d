import { createHash } from 'node:crypto';
import PQueue from 'p-queue';
import { SightlineError } from '../base/errors.ts';
import { type BesideMember, besideMembers } from '../contract/beside-list.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { createFieldWriters, usualForms } from '../contract/field-forms.ts';
import { FORMS, isServedBare, parameterForm } from '../contract/formats.ts';
import { isUuid, type KnownValues, type ServedNames } from '../contract/query-parameters.ts';
import type { Conventions } from '../metrics/calibration/conventions.ts';
import type { Doubts } from '../metrics/calibration/findings.ts';
import { mayRepeatMentions, readDayCounts } from '../metrics/numbers/aggregate.ts';
import { type ListedBrand, readBrandList } from '../warehouse/brand-list.ts';
import type { Query } from '../warehouse/database.ts';
import { type DaysOf, readDaysOf } from '../warehouse/ledger/echoed-days.ts';
import { MARKS_VARIABLE, readMarksVersion } from '../warehouse/ledger/marks.ts';
import { readShapes, type Shapes } from '../warehouse/ledger/shapes.ts';
import { openReplica, type Replica, type ReplicaOptions, type ReplicaTask } from '../warehouse/replica.ts';
import { SCHEMA_VERSION } from '../warehouse/schema.ts';
import { readValueLists } from '../warehouse/value-lists.ts';
import { type BrandCounts, createBrandCounts } from './brand-counts.ts';
import { type Coverage, readCoverage } from './coverage.ts';
import { type DataVersions, readDataVersions } from './data-versions.ts';
import { type ReportForms, readSpellings } from './report-forms.ts';
import { createRowCache, type RowCache } from './row-cache.ts';

/** An open replica, with the metadata that every response needs. */
export interface ServedReplica {
  readonly replica: Replica;
  /** Runs a task of many queries. Such tasks leave one connection to the others. */
  workLong<T>(task: ReplicaTask<T>, signal?: AbortSignal): Promise<T>;
  /** Resources whose tables the replica has. */
  readonly catalogue: Catalogue;
  /** Hex digits that change with the data, their order, upstream's response formats or the calibration. */
  readonly version: string;
  readonly versions: DataVersions;
  readonly conventions: Conventions;
  /** Conventions that may differ from upstream's. */
  readonly doubts: Doubts;
  readonly shapes: Shapes;
  readonly coverage: Coverage;
  /** Days of each resource and brand. */
  readonly daysOf: DaysOf;
  /** Current brands by id. `since` is the first day with data; it and `name` are null if not known. */
  readonly brands: ReadonlyMap<string, ListedBrand>;
  /** Ids of the brands to which the reader is limited; null for all, even deleted ones. Readers of SQL must apply it. */
  readonly allowedBrands: ReadonlySet<string> | null;
  /** Counts of brands in memory. */
  readonly counts: BrandCounts;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Results of statements that many requests need. */
  readonly rowCache: RowCache;
  readonly lastRun: LastRun | null;
  readonly dataVersion: number;
  /** Returns the served names of parameters whose name the specification leaves open. */
  namesOf(resource: Resource): ServedNames;
  /** Returns whether the body of a resource is served without the wrapper `data`. */
  isBare(resource: Resource): boolean;
  /** Returns the undeclared members of a resource's bodies beside its lists. */
  besideOf(resource: Resource): readonly BesideMember[];
  /** Returns the writers of a resource's values in upstream's forms. */
  writersOf(resource: Resource): ReportForms;
  /** Values that parameters may have. */
  readonly lists: KnownValues;
}

/** The newest sync run. */
export interface LastRun {
  readonly status: string;
  /** Epoch milliseconds. */
  readonly endedAt: number | null;
}

/** Marks of the workspace, which change without a new replica. */
export interface LiveMarks {
  /** Changes with the marks. */
  version(): string;
  /** Returns the current marks as mart.marks reads them; null to use the marks in the replica. */
  read(): string | null;
}

/** Options for opening a replica. */
export interface ServedReplicaOptions {
  readonly catalogue: Catalogue;
  readonly replica: ReplicaOptions;
  /** Reads the calibration of upstream's numbers, with overrides from the configuration. */
  readonly readConventions: (query: Query) => Promise<Conventions>;
  /** Reads the conventions that may differ from upstream's; default: none. */
  readonly readDoubts?: (query: Query) => Promise<Doubts>;
  /** Default: the marks as of the replica. */
  readonly marks?: LiveMarks;
}

/**
 * Opens a replica.
 *
 * @throws SightlineError `no_data` if the replica has the schema of another version of sightline
 */
export async function openServedReplica(path: string, options: ServedReplicaOptions): Promise<ServedReplica> {
  const marks = options.marks?.read() ?? null;
  const variables = marks === null ? {} : { [MARKS_VARIABLE]: marks };
  const replica = await openReplica(path, { ...options.replica, variables });
  try {
    return await replica.work((query) => readServedReplica(replica, query, options, marks));
  } catch (thrown) {
    await replica.close();
    throw thrown;
  }
}

function createLongWork(replica: Replica, { connections, waitingMax }: ReplicaOptions): ServedReplica['workLong'] {
  const queue = new PQueue({ concurrency: Math.max(1, connections - 1) });
  return async (task, signal) => {
    if (queue.size >= waitingMax)
      throw new SightlineError('overloaded', `${waitingMax} long tasks are already waiting`);
    const release = replica.hold();
    try {
      return await queue.add(() => replica.work(task, signal));
    } finally {
      release();
    }
  };
}

async function readServedReplica(
  replica: Replica,
  query: Query,
  options: ServedReplicaOptions,
  marks: string | null,
): Promise<ServedReplica> {
  const { catalogue } = options;
  await checkSchema(query);
  const conventions = await options.readConventions(query);
  const shapes = await readShapes(query);
  const [lastRun, dataVersion] = [await readLastRun(query), await readDataVersion(query)];
  const lists = await readValueLists(query, catalogue);
  const versions = await readDataVersions(query, catalogue, shapes, conventions);
  const daysOf = await readDaysOf(query);
  const mayRepeat = mayRepeatMentions(shapes);
  return {
    replica,
    workLong: createLongWork(replica, options.replica),
    catalogue,
    version: createHash('sha256')
      .update(`${versions.all}${marks ?? (await readMarksVersion(query))}`)
      .digest('hex')
      .slice(0, 32),
    versions,
    conventions,
    doubts: (await options.readDoubts?.(query)) ?? new Map(),
    shapes,
    coverage: await readCoverage(query, catalogue, daysOf),
    daysOf,
    brands: new Map((await readBrandList(query, catalogue)).map((brand) => [brand.id, brand])),
    allowedBrands: null,
    counts: createBrandCounts((brandId, countsMax) =>
      replica.work(
        (own) => readDayCounts(own, { catalogue, brandId, mayRepeat, counting: conventions }, countsMax),
        undefined,
        'background',
      ),
    ),
    mayRepeat,
    rowCache: createRowCache(),
    lastRun,
    dataVersion,
    writersOf: writersIn(catalogue, shapes, await readSpellings(query, catalogue, shapes)),
    besideOf: (resource) => besideMembers(resource, shapes.rows),
    isBare: (resource) => isServedBare(resource, shapes.get(resource.name, FORMS.envelope)),
    namesOf: ({ name: resource, query: parameters, rangeParameters }) => ({
      ...rangeParameters,
      ...Object.fromEntries(
        Object.entries(parameters).flatMap(([name, { nameUnknown }]) => {
          const served = nameUnknown === true ? shapes.get(resource, parameterForm(name)) : null;
          return served === null ? [] : [[name, served]];
        }),
      ),
    }),
    lists,
  };
}

// A detail repeats fields of its list, so the list's forms are used for fields that no detail had.
function writersIn(
  { resources }: Catalogue,
  shapes: Shapes,
  spellings: ReadonlyMap<string, string>,
): ServedReplica['writersOf'] {
  const reports = new Set(resources.filter(({ computes }) => computes !== undefined).map(({ name }) => name));
  const usual = usualForms(shapes.rows, reports);
  return ({ name, change }) => ({
    ...createFieldWriters(change.kind === 'detail' ? [name, change.of] : [name], shapes, usual),
    spellings,
  });
}

/**
 * Returns the replica for a reader that may read only some brands, given by id or by exact name. A text in the form of an id is
 * never a name. Brands that do not exist are ignored.
 */
export function limitReplica(replica: ServedReplica, brands: readonly string[]): ServedReplica {
  const ids = new Set(brands.filter(isUuid).map((id) => id.toLowerCase()));
  const names = new Set(brands.filter((brand) => !isUuid(brand)));
  const allowed = [...replica.brands].filter(([id, { name }]) => ids.has(id) || (name !== null && names.has(name)));
  return { ...replica, brands: new Map(allowed), allowedBrands: new Set(allowed.map(([id]) => id)) };
}

async function checkSchema(query: Query): Promise<void> {
  const rows = await query("SELECT value FROM sync.meta WHERE name = 'schema_version'").catch(() => []);
  const version = Number(rows[0]?.[0] ?? 0);
  if (version === SCHEMA_VERSION) return;
  const what =
    version < SCHEMA_VERSION ? 'an older sightline; run `sightline replay`' : 'a newer sightline; upgrade this one';
  throw new SightlineError('no_data', `the replica is from ${what}`);
}

async function readLastRun(query: Query): Promise<LastRun | null> {
  const rows = await query(
    "SELECT status, epoch_ms(ended_at) FROM sync.runs WHERE status <> 'running' AND kind = 'sync' ORDER BY started_at DESC, rowid DESC LIMIT 1",
  );
  const [row] = rows;
  return row === undefined ? null : { status: String(row[0]), endedAt: row[1] === null ? null : Number(row[1]) };
}

async function readDataVersion(query: Query): Promise<number> {
  const [row] = await query('SELECT max(data_version) FROM sync.requests');
  return Number(row?.[0] ?? 0);
}
