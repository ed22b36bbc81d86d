import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import { VERSION } from '../base/version.ts';
import { brandListOf, type Catalogue, idKindOf, listerOf, type Resource } from '../contract/catalogue.ts';
import type { ColumnKind } from '../contract/fields.ts';
import { isServedBare } from '../contract/formats.ts';
import {
  type Query as CheckedQuery,
  checkKnown,
  checkRequired,
  cursorParameterOf,
  isUuid,
  ParameterError,
  readQuery,
} from '../contract/query-parameters.ts';
import { dayOf } from '../contract/time.ts';
import { listOrderOf } from '../metrics/calibration/conventions.ts';
import { type AnswerRequest, type CursorAfter, computeAnswer, notFound, scanList } from './answer.ts';
import { type Covered, chosenOf, coveredBy, worstOf } from './coverage.ts';
import { type CursorSigner, createCursorSigner, type Position } from './cursor-signer.ts';
import { limitReplica, type ServedReplica, type ServedReplicaOptions } from './open-replica.ts';
import { createReplicaHolder } from './replica-holder.ts';
import { brandColumnOf } from './selected-rows.ts';
import type { Freshness, Question, Running, Service } from './service.ts';

/** How long the progress of a running sync is reused; it is written every second. */
const RUNNING_MS = 1_000;

/** Maximum number of cached readers that are limited to brands. */
const LIMITED_MAX = 64;

/** Parsed requests that are cached, and the maximum length of their keys. */
const ENTRIES_MAX = 1_000;
const KEY_CHARACTERS_MAX = 2_048;

/** Dependencies and settings of the query layer. */
export interface ServiceOptions extends ServedReplicaOptions {
  /** Path of the replica. The file may be replaced at any time, and may not exist yet. */
  readonly path: string;
  readonly clock: Clock;
  /** 256-bit secret that signs cursors. */
  readonly cursorSecret: Uint8Array;
  /** Reads the progress of the sync that is running in any process; default: none is. */
  readonly readRunning?: () => Promise<Running | null>;
}

/** Creates the query layer over a replica. */
export function createService(options: ServiceOptions): Service {
  const { catalogue, path, clock } = options;
  const holder = createReplicaHolder(path, options);
  const signer = createCursorSigner(options.cursorSecret);
  let running: { readonly at: number; readonly read: Promise<Running | null> } | null = null;
  const readRunning = (): Promise<Running | null> => {
    const at = clock.monotonic();
    if (running === null || at - running.at >= RUNNING_MS)
      running = { at, read: options.readRunning?.() ?? Promise.resolve(null) };
    return running.read;
  };
  const limited = new Map<string, Service>();
  const createView = (view: ReplicaView, allowed: readonly string[] | null): Service => ({
    catalogue,
    ask: createAsk(options, view, signer),
    namesOf: (resource) => holder.opened()?.namesOf(resource) ?? {},
    isBare: (resource) => holder.opened()?.isBare(resource) ?? isServedBare(resource, null),
    mayRead: (resource) => allowed === null || refusalOf(resource) === null,
    formsOf: (resource) => {
      const opened = holder.opened();
      return opened === null ? null : { writers: opened.writersOf(resource), text: opened.shapes.text };
    },
    conventions: () => holder.opened()?.conventions ?? null,
    doubts: () => holder.opened()?.doubts ?? new Map(),
    running: readRunning,
    load: () => holder.opened()?.replica.load() ?? { running: 0, waiting: 0 },
    newest: () => view(),
    limitedTo: (brands) => {
      const both = allowed === null ? brands : brands.filter((brand) => allowed.includes(brand));
      const key = JSON.stringify(both.toSorted());
      const known = limited.get(key) ?? createView(createLimitedView(view, both), both);
      // Moves it to the end, so that the one that was not used for longest is dropped.
      limited.delete(key);
      limited.set(key, known);
      if (limited.size > LIMITED_MAX) limited.delete(limited.keys().next().value as string);
      return known;
    },
    freshness: async () => {
      try {
        return describe(catalogue, await view(), clock.now());
      } catch (thrown) {
        if (!(thrown instanceof SightlineError) || thrown.code !== 'no_data') throw thrown;
        return { ready: false, syncedAt: null, status: null, dataVersion: null, resources: [] };
      }
    },
    close: () => holder.close(),
  });
  return createView(() => holder.current(), null);
}

/** Returns the newest replica, as a reader may read it. */
type ReplicaView = () => Promise<ServedReplica>;

function createLimitedView(view: ReplicaView, brands: readonly string[]): ReplicaView {
  const views = new WeakMap<ServedReplica, ServedReplica>();
  return async () => {
    const replica = await view();
    const known = views.get(replica) ?? limitReplica(replica, brands);
    views.set(replica, known);
    return known;
  };
}

function createAsk({ catalogue, clock }: ServiceOptions, view: ReplicaView, signer: CursorSigner): Service['ask'] {
  const remembered = createRemembered<Question>();
  const check = (
    replica: ServedReplica,
    resource: Resource,
    given: Readonly<Record<string, string>>,
    parameters: URLSearchParams,
    nowMs: number,
  ): Question => {
    const ids = checkPath(catalogue, replica, resource, given);
    const today = replica.daysOf(resource.name, ids.brandId)(nowMs);
    const checked = checkQuery(replica, resource, parameters, today);
    const binding = (range: { from: string; to: string }): string =>
      bindingOf(resource, ids, checked, range, listOrderOf(resource.name, replica.conventions));
    checkBrands(replica, resource);
    if (replica.coverage.isMissing(resource, ids.brandId, chosenOf({ resource, ...ids, asked: checked })))
      throw new SightlineError('not_found', `upstream does not have this list of ${resource.name}`);
    const after = readCursor(resource, checked, (cursor) => signer.read(cursor, binding));
    const asked = after === null ? checked : { ...checked, from: after.from, to: after.to };
    const request: AnswerRequest = { catalogue, replica, resource, ...ids, asked, after, nowMs };
    const { from, to, values } = asked;
    const upTo = (limit?: number): AnswerRequest =>
      limit === undefined ? request : { ...request, asked: { ...asked, values: { ...values, limit } } };
    return {
      resource,
      version: versionOf(replica, request, signer.id),
      list:
        resource.paging === 'cursor' && !asked.given.includes('limit')
          ? { version: versionOf(replica, request, 'list'), pages: (signal) => scanList(request, signal) }
          : null,
      ...coveredBy(replica.coverage, { ...request, since: sinceOf(replica, ids.brandId) }),
      answer: (signal, rowsMax) =>
        inSpan('query', { 'sightline.resource': resource.name }, async () => {
          signal?.throwIfAborted();
          const limited = upTo(rowsMax);
          const cursorAfter: CursorAfter = (last) => signer.write({ ...last, from, to }, binding);
          return replica.replica.work(
            (query, _read, prepared) =>
              computeAnswer(resource.computes === undefined ? prepared : query, limited, cursorAfter),
            signal,
          );
        }),
    } satisfies Question;
  };
  // A check depends on the time only through its day, in UTC and in the days of the resource, so its result is reusable until
  // these or the replica change.
  return async (resource, given, parameters) => {
    const replica = await view();
    const nowMs = clock.now();
    const today = replica.daysOf(resource.name, given['brandId']?.toLowerCase() ?? null)(nowMs);
    const key = `${resource.name} ${today} ${Object.values(given).join(' ')} ${parameters}`;
    return remembered(replica, dayOf(nowMs), key, () => check(replica, resource, given, parameters, nowMs));
  };
}

interface Ids {
  readonly brandId: string | null;
  /** Id of the row, for a detail request. */
  readonly member: string | null;
  /** Path parameters from the row of another list, for a list below it. */
  readonly parent: Readonly<Record<string, string>>;
}

// Rejects an unknown brand immediately; the row of a detail is looked up when the response is computed.
function checkPath(
  catalogue: Catalogue,
  replica: ServedReplica,
  resource: Resource,
  given: Readonly<Record<string, string>>,
): Ids {
  const brands = brandListOf(catalogue).name;
  const parent: Record<string, string> = {};
  const ids: { brandId: string | null; member: string | null } = { brandId: null, member: null };
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(resource.parent?.parameters ?? {}, name)) {
      parent[name] = value;
      continue;
    }
    const isMember = resource.change.kind === 'detail' && resource.change.parameter === name;
    const isBrand = !isMember || (resource.change.kind === 'detail' && resource.change.of === brands);
    const kind = idKindOf(listerOf(catalogue, resource, name));
    const id = kind === 'uuid' ? value.toLowerCase() : value;
    if (!isId(kind, id) || (isBrand && !replica.brands.has(id))) throw notFound(name, value);
    if (isMember) ids.member = id;
    else ids.brandId = id;
  }
  return { ...ids, parent };
}

function isId(kind: ColumnKind, id: string): boolean {
  if (kind === 'uuid') return isUuid(id);
  return kind === 'integer' ? /^-?\d{1,15}$/.test(id) : true;
}

function checkQuery(replica: ServedReplica, resource: Resource, given: URLSearchParams, today: string): CheckedQuery {
  const names = replica.namesOf(resource);
  // The longest range of an inferred endpoint is not known.
  const isAnyLength = resource.generic === true;
  try {
    const asked = readQuery(resource.query, given, today, { names, isAnyLength });
    checkRequired(resource.query, asked);
    checkKnown(resource.query, asked, replica.lists, names);
    return asked;
  } catch (thrown) {
    throw toInvalid(thrown);
  }
}

function checkBrands({ allowedBrands }: ServedReplica, resource: Resource): void {
  const refusal = allowedBrands === null ? null : refusalOf(resource);
  if (refusal !== null) throw new SightlineError('forbidden', refusal, { hint: 'Use a key for all brands.' });
}

// Returns why readers for some brands may not read a resource; null if they may.
function refusalOf({ name, scope, generic, change, derived }: Resource): string | null {
  if (scope === 'brand') return null;
  if (change.kind === 'value') return `${name} is about all brands, so keys that are limited to brands cannot read it`;
  // Rows of an inferred list without a brand may be about any brand.
  if (generic !== true || derived.every((table) => brandColumnOf(table) !== null)) return null;
  return `the rows of ${name} name no brand, so keys that are limited to brands cannot read them`;
}

function readCursor(
  { query }: Resource,
  { values }: CheckedQuery,
  read: (cursor: string) => Position,
): Position | null {
  const name = cursorParameterOf(query);
  const cursor = name === null ? undefined : values[name];
  if (typeof cursor !== 'string') return null;
  try {
    return read(cursor);
  } catch (thrown) {
    throw toInvalid(thrown);
  }
}

// Everything that must stay the same from page to page. If no range is given, use the range of the first page, because
// a default range would move at midnight.
function bindingOf(
  resource: Resource,
  { brandId, member, parent }: Ids,
  { values, given, from, to }: CheckedQuery,
  resolved: { from: string; to: string },
  order: readonly string[],
): string {
  const kept = Object.entries(resource.query).filter(([, { kind }]) => kind !== 'cursor' && kind !== 'day');
  const isGiven = Object.entries(resource.query).some(([name, { kind }]) => kind === 'day' && given.includes(name));
  const range = isGiven ? [from, to] : [resolved.from, resolved.to];
  return JSON.stringify([
    resource.name,
    brandId,
    member,
    parent,
    kept.map(([name]) => values[name] ?? null),
    range,
    order,
  ]);
}

// Includes the version of sightline, because it may write equal data differently. `form` is the secret that signs the cursor in
// a page of a list, or `list` for the complete list.
function versionOf({ versions, allowedBrands, daysOf }: ServedReplica, request: AnswerRequest, form: string): string {
  const { resource, brandId, member, parent = {}, asked, nowMs } = request;
  const takesDays = Object.values(resource.query).some(({ kind }) => kind === 'day');
  const others = Object.entries(resource.query).filter(([, { kind }]) => kind !== 'day');
  const values = others.map(([name]) => asked.values[name] ?? null);
  const range = takesDays ? [asked.from, asked.to, daysOf(resource.name, brandId)(nowMs)] : [];
  // Only lists of the workspace differ between readers that may read different brands.
  const limit = allowedBrands === null || resource.scope === 'brand' ? [] : [[...allowedBrands].toSorted()];
  const written: unknown[] = [VERSION, resource.paging === 'cursor' ? form : null, ...limit];
  const ids = [brandId, member, parent];
  if (resource.generic === true) written.push(formOf(resource));
  const question = JSON.stringify([written, versions.of(request), resource.name, ids, values, range]);
  return createHash('sha256').update(question).digest('hex').slice(0, 32);
}

// An inferred declaration can change without the data.
function formOf(resource: Resource): string {
  const { pages = null, derived } = resource;
  const tables = derived.map(({ declaration: { at }, columns }) => [at, columns.map(({ name, kind }) => [name, kind])]);
  return JSON.stringify([pages, tables]);
}

function describe(catalogue: Catalogue, replica: ServedReplica, nowMs: number): Freshness {
  const brands = [...replica.brands.keys()];
  const resources = catalogue.resources
    .filter(({ change }) => change.kind !== 'detail')
    .map((resource) => {
      const scopes = resource.scope === 'brand' ? brands : [null];
      const parts = scopes.map((brandId): Covered => {
        const today = replica.daysOf(resource.name, brandId)(nowMs);
        const asked = readQuery(resource.query, new URLSearchParams(), today);
        const question = { catalogue, resource, brandId, member: null, asked, nowMs };
        return coveredBy(replica.coverage, { ...question, since: sinceOf(replica, brandId) ?? today });
      });
      return { name: resource.name, ...worstOf(parts) };
    });
  const { lastRun, dataVersion } = replica;
  return { ready: true, syncedAt: lastRun?.endedAt ?? null, status: lastRun?.status ?? null, dataVersion, resources };
}

function sinceOf(replica: ServedReplica, brandId: string | null): string | null {
  return brandId === null ? null : (replica.brands.get(brandId)?.since ?? null);
}

function toInvalid(thrown: unknown): unknown {
  if (!(thrown instanceof ParameterError)) return thrown;
  const { message, parameter, allowed } = thrown;
  return new SightlineError('invalid_parameter', message, { cause: thrown, parameter, allowed });
}

/** Returns the cached value of a key, or creates it. Values of another scope or another day are dropped. */
type Remembered<T> = (scope: object, day: string, key: string, make: () => T) => T;

/** Creates an empty cache. If `make` throws, nothing is cached. */
export function createRemembered<T>(): Remembered<T> {
  const known = new Map<string, T>();
  let current: { readonly scope: object; readonly day: string } | null = null;
  return (scope, day, key, make) => {
    if (current?.scope !== scope || current.day !== day) {
      known.clear();
      current = { scope, day };
    }
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make();
    if (key.length > KEY_CHARACTERS_MAX) return made;
    if (known.size >= ENTRIES_MAX) known.delete(known.keys().next().value as string);
    known.set(key, made);
    return made;
  };
}
