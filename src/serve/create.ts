import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import { type Catalogue, providerOf, type Resource } from '../contract/catalogue.ts';
import { type Query as CheckedQuery, isUuid, ParameterError, readQuery, servedName } from '../contract/query.ts';
import { dayOf } from '../contract/time.ts';
import type { Conventions } from '../metrics/conventions.ts';
import type { Query } from '../warehouse/database.ts';
import type { ReplicaOptions } from '../warehouse/replica.ts';
import { type AnswerRequest, computeAnswer, notFound } from './answer.ts';
import { type Covered, coveredBy, worstOf } from './coverage.ts';
import { createCursorSigner, type Position } from './cursor.ts';
import type { Edition } from './edition.ts';
import { createRemembered } from './remembered.ts';
import type { Freshness, Question, Service } from './service.ts';
import { createShelf } from './shelf.ts';

/** What the query layer works with. */
export interface ServiceOptions {
  readonly catalogue: Catalogue;
  /** The published copy; it may be replaced, and need not be there yet. */
  readonly path: string;
  readonly clock: Clock;
  /** 256 bits under which cursors are signed. */
  readonly cursorSecret: Uint8Array;
  readonly replica: ReplicaOptions;
  /** What was learned of upstream's numbers, with the configuration's say over it. */
  readonly readConventions: (query: Query) => Promise<Conventions>;
}

/** Builds the query layer over a published copy. */
export function createService(options: ServiceOptions): Service {
  const { catalogue, path, clock, replica, readConventions } = options;
  const shelf = createShelf(path, { catalogue, replica, readConventions });
  const signer = createCursorSigner(options.cursorSecret);

  const remembered = createRemembered<Question>();

  // Whatever depends on the time depends on its day alone, so that a question in order stays so until the day or the
  // copy is another.
  const ask: Service['ask'] = async (resource, given, parameters) => {
    const edition = await shelf.current();
    const nowMs = clock.now();
    const key = `${resource.name} ${Object.values(given).join(' ')} ${parameters}`;
    return remembered(edition, dayOf(nowMs), key, () => check(edition, resource, given, parameters, nowMs));
  };

  const check = (
    edition: Edition,
    resource: Resource,
    given: Readonly<Record<string, string>>,
    parameters: URLSearchParams,
    nowMs: number,
  ): Question => {
    const ids = checkPath(catalogue, edition, resource, given);
    const checked = checkQuery(edition, resource, parameters, nowMs);
    const binding = (range: { from: string; to: string }): string => bindingOf(resource, ids, checked, range);
    const after = readCursor(checked, (cursor) => signer.read(cursor, binding));
    const asked = after === null ? checked : { ...checked, from: after.from, to: after.to };
    const request: AnswerRequest = { catalogue, edition, resource, ...ids, asked, after, nowMs };
    const { from, to, values } = asked;
    const upTo = (limit?: number): AnswerRequest =>
      limit === undefined ? request : { ...request, asked: { ...asked, values: { ...values, limit } } };
    return {
      resource,
      version: versionOf(edition, request),
      ...coveredBy(edition.coverage, { ...request, since: sinceOf(edition, ids.brandId) }),
      answer: (signal, rowsMax) =>
        inSpan('query', { 'sightline.resource': resource.name }, () =>
          edition.replica.work(
            (query) => computeAnswer(query, upTo(rowsMax), (last) => signer.write({ ...last, from, to }, binding)),
            signal,
          ),
        ),
    } satisfies Question;
  };

  return {
    catalogue,
    ask,
    namesOf: (resource) => shelf.opened()?.namesOf(resource) ?? {},
    load: () => shelf.opened()?.replica.load() ?? { running: 0, waiting: 0 },
    newest: () => shelf.current(),
    freshness: async () => {
      try {
        return describe(catalogue, await shelf.current(), clock.now());
      } catch (thrown) {
        if (!(thrown instanceof SightlineError) || thrown.code !== 'no_data') throw thrown;
        return { ready: false, syncedAt: null, status: null, dataVersion: null, resources: [] };
      }
    },
    close: () => shelf.close(),
  };
}

interface Ids {
  readonly brandId: string | null;
  /** Id of the row that a detail is of. */
  readonly member: string | null;
}

// A brand that is not there is told at once; the row of a detail is looked up with the answer.
function checkPath(
  catalogue: Catalogue,
  edition: Edition,
  resource: Resource,
  given: Readonly<Record<string, string>>,
): Ids {
  const provider = providerOf(catalogue, 'brand');
  const ids: { brandId: string | null; member: string | null } = { brandId: null, member: null };
  for (const [name, value] of Object.entries(given)) {
    const id = value.toLowerCase();
    const isMember = resource.change.kind === 'detail' && resource.change.parameter === name;
    const isBrand = !isMember || (resource.change.kind === 'detail' && resource.change.of === provider.name);
    if (!isUuid(id) || (isBrand && !edition.brands.has(id))) throw notFound(name, value);
    if (isMember) ids.member = id;
    else ids.brandId = id;
  }
  return ids;
}

function checkQuery(edition: Edition, resource: Resource, given: URLSearchParams, nowMs: number): CheckedQuery {
  const names = edition.namesOf(resource);
  try {
    const asked = readQuery(resource.query, given, nowMs, names);
    for (const [name, parameter] of Object.entries(resource.query)) {
      const [value, values] = [asked.values[name], edition.valuesOf(parameter)];
      if (typeof value === 'string' && values !== null && !values.includes(value)) {
        throw new ParameterError(servedName(name, parameter, names), value, `one of ${values.join(', ')}`);
      }
    }
    return asked;
  } catch (thrown) {
    throw toInvalid(thrown);
  }
}

function readCursor({ values }: CheckedQuery, read: (cursor: string) => Position): Position | null {
  const cursor = values['cursor'];
  if (typeof cursor !== 'string') return null;
  try {
    return read(cursor);
  } catch (thrown) {
    throw toInvalid(thrown);
  }
}

// Everything of the request that must stay as it is from page to page. A range that is not given is that of the
// first page: a default would move under the reader at midnight.
function bindingOf(
  resource: Resource,
  { brandId, member }: Ids,
  { values, given, from, to }: CheckedQuery,
  resolved: { from: string; to: string },
): string {
  const kept = Object.entries(resource.query).filter(([, { kind }]) => kind !== 'cursor' && kind !== 'day');
  const isGiven = Object.entries(resource.query).some(([name, { kind }]) => kind === 'day' && given.includes(name));
  const range = isGiven ? [from, to] : [resolved.from, resolved.to];
  return JSON.stringify([resource.name, brandId, member, kept.map(([name]) => values[name] ?? null), range]);
}

function versionOf(edition: Edition, { resource, brandId, member, asked, nowMs }: AnswerRequest): string {
  const takesDays = Object.values(resource.query).some(({ kind }) => kind === 'day');
  const others = Object.entries(resource.query).filter(([, { kind }]) => kind !== 'day');
  const values = others.map(([name]) => asked.values[name] ?? null);
  const range = takesDays ? [asked.from, asked.to, dayOf(nowMs)] : [];
  const question = JSON.stringify([edition.version, resource.name, brandId, member, values, range]);
  return createHash('sha256').update(question).digest('hex').slice(0, 32);
}

function describe(catalogue: Catalogue, edition: Edition, nowMs: number): Freshness {
  const brands = [...edition.brands.keys()];
  const today = dayOf(nowMs);
  const resources = catalogue.resources
    .filter(({ change }) => change.kind !== 'detail')
    .map((resource) => {
      const scopes = resource.scope === 'brand' ? brands : [null];
      const asked = readQuery(resource.query, new URLSearchParams(), nowMs);
      const parts = scopes.map((brandId): Covered => {
        const question = { catalogue, resource, brandId, member: null, asked, nowMs };
        return coveredBy(edition.coverage, { ...question, since: sinceOf(edition, brandId) ?? today });
      });
      return { name: resource.name, ...worstOf(parts) };
    });
  const { lastRun, dataVersion } = edition;
  return { ready: true, syncedAt: lastRun?.endedAt ?? null, status: lastRun?.status ?? null, dataVersion, resources };
}

function sinceOf(edition: Edition, brandId: string | null): string | null {
  return brandId === null ? null : (edition.brands.get(brandId)?.since ?? null);
}

function toInvalid(thrown: unknown): unknown {
  if (!(thrown instanceof ParameterError)) return thrown;
  return new SightlineError('invalid_parameter', thrown.message, { cause: thrown });
}
