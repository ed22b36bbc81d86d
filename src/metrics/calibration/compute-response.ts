import { isDeepStrictEqual } from 'node:util';
import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import {
  checkKnown,
  type KnownValues,
  ParameterError,
  type Query as CheckedQuery,
  readQuery,
} from '../../contract/query-parameters.ts';
import { readBrandList } from '../../warehouse/brand-list.ts';
import type { Query } from '../../warehouse/database.ts';
import { type DaysOf, readDaysOf } from '../../warehouse/ledger/echoed-days.ts';
import type { Shapes } from '../../warehouse/ledger/shapes.ts';
import { readValueLists } from '../../warehouse/value-lists.ts';
import { mayRepeatMentions } from '../numbers/aggregate.ts';
import { keepsFormer, readReportedBrand } from '../numbers/brand.ts';
import type { ReportedBrand, ReportRequest } from '../numbers/report-request.ts';
import { computeReport } from '../numbers/reports.ts';
import type { Conventions } from './conventions.ts';
import { rowsOf } from './points/facts.ts';
import type { Compared, Compute, ReportQuestion } from './points/point.ts';

/** Maximum number of rows of the responses that are kept. A row takes about 400 bytes. */
const ROWS_KEPT_MAX = 100_000;

interface KnownQuestion {
  readonly responses: Memoized<Compared>[];
  /** By the brand, which depends on conventions too. */
  readonly unsorted: Map<ReportedBrand, Memoized<unknown>[]>;
  /** The checked parameters. */
  asked?: Promise<CheckedQuery>;
}

/** A result, and the values of the conventions that its computation has read. */
interface Memoized<T> {
  readonly reads: readonly (readonly [name: keyof Conventions, value: unknown])[];
  readonly value: T;
}

/**
 * Returns the function that computes responses from stored data. Equal statements are run once, and a response is computed once for all
 * conventions that differ only in values that its computation does not read.
 */
export function createCompute(query: Query, catalogue: Catalogue, shapes: Shapes): Compute {
  const mayRepeat = mayRepeatMentions(shapes);
  const results = new Map<string, Promise<unknown[][]>>();
  const once: Query = (sql, parameters = []) => {
    const key = JSON.stringify([sql, parameters]);
    const found = results.get(key) ?? query(sql, parameters);
    results.set(key, found);
    return found;
  };
  const brands = new Map<string, Promise<ReportedBrand>>();
  const questions = new Map<string, KnownQuestion>();
  let lists: Promise<KnownValues> | undefined;
  const readLists = (): Promise<KnownValues> => {
    lists ??= readValueLists(once, catalogue);
    return lists;
  };
  let daysOf: Promise<DaysOf> | undefined;
  const readDays = (): Promise<DaysOf> => {
    daysOf ??= readDaysOf(once);
    return daysOf;
  };
  const check = async (resource: Resource, { brandId, query: given }: ReportQuestion, askedAt: number) => {
    const today = (await readDays())(resource.name, brandId)(askedAt);
    const asked = readQuery(resource.query, new URLSearchParams(given), today);
    checkKnown(resource.query, asked, await readLists());
    return asked;
  };
  const readBrand = (brandId: string, conventions: Conventions): Promise<ReportedBrand> => {
    const key = `${brandId} ${keepsFormer(conventions)}`;
    const read = async () => {
      const listed = await readBrandList(once, catalogue, { deleted: true });
      const since = listed.find(({ id }) => id === brandId)?.since ?? null;
      return readReportedBrand(once, catalogue, brandId, since, conventions);
    };
    const found = brands.get(key) ?? read();
    brands.set(key, found);
    return found;
  };
  const memoize = createMemo();
  const respond = async (
    question: ReportQuestion,
    askedAt: number,
    kept: KnownQuestion,
    conventions: Conventions,
  ): Promise<Compared> => {
    const resource = catalogue.get(question.resource);
    if (resource.computes === undefined) throw new TypeError(`${question.resource} is not computed`);
    try {
      kept.asked ??= check(resource, question, askedAt);
      const asked = await kept.asked;
      const brand = await readBrand(question.brandId, conventions);
      const unsorted = kept.unsorted.get(brand) ?? [];
      kept.unsorted.set(brand, unsorted);
      const memo: ReportRequest['memo'] = (own, compute) => {
        type Value = Awaited<ReturnType<typeof compute>>;
        return memoize(unsorted as Memoized<Value>[], own, compute, (rows) => (Array.isArray(rows) ? rows.length : 1));
      };
      const request = { catalogue, query: once, conventions, brand, resource, asked, nowMs: askedAt, mayRepeat, memo };
      const { beside, rows } = await computeReport(resource.computes, request);
      return { status: 200, body: { ...beside, data: rows } };
    } catch (thrown) {
      if (thrown instanceof ParameterError) return { status: 400, body: null };
      throw thrown;
    }
  };
  return (question, askedAt, conventions) => {
    const key = JSON.stringify([question.resource, question.brandId, question.query, askedAt]);
    const kept = questions.get(key) ?? { responses: [], unsorted: new Map() };
    questions.set(key, kept);
    const compute = (watched: Conventions): Promise<Compared> => respond(question, askedAt, kept, watched);
    return memoize(kept.responses, conventions, compute, (response) => rowsOf(response).length);
  };
}

// Returns the function that computes a result once for all conventions that differ only in values that it does not read.
function createMemo() {
  let rowCount = 0;
  return async <T>(
    kept: Memoized<T>[],
    conventions: Conventions,
    compute: (watched: Conventions) => Promise<T>,
    rowsIn: (value: T) => number,
  ): Promise<T> => {
    const found = kept.find(({ reads }) =>
      reads.every(([name, value]) => value === conventions[name] || isDeepStrictEqual(value, conventions[name])),
    );
    if (found !== undefined) return found.value;
    const reads = new Map<keyof Conventions, unknown>();
    const value = await compute(watchReads(conventions, reads));
    rowCount += rowsIn(value);
    if (rowCount <= ROWS_KEPT_MAX) kept.push({ reads: [...reads], value });
    return value;
  };
}

// Returns the conventions, and records the values that are read from them.
function watchReads(conventions: Conventions, reads: Map<keyof Conventions, unknown>): Conventions {
  return new Proxy(conventions, {
    get: (target, name: keyof Conventions) => {
      const value = target[name];
      reads.set(name, value);
      return value;
    },
  });
}
