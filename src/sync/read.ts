import type { Clock } from '../base/clock.ts';
import { inSpan } from '../base/trace.ts';
import { type Catalogue, detailsOf, providerOf } from '../contract/catalogue.ts';
import { parameterForm } from '../contract/forms.ts';
import type { Implausible } from '../contract/implausible.ts';
import type { Attempt } from '../contract/request.ts';
import { createRowReader, type RowReader, type TableRows } from '../contract/rows.ts';
import type { Client } from '../upstream/client.ts';
import { learnParameterNames, OPENAPI_PATH } from '../upstream/discovery.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { walkPages } from '../upstream/pages.ts';
import type { RunRef } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Chain, chainsOf, type ParameterNames } from './chain.ts';
import type { PlanContext } from './context.ts';
import { nextOf, type ReadPage, readPage } from './page.ts';
import { resumePoint } from './plan.ts';
import type { Tally } from './tally.ts';

/** Reads single chains for a run. */
export interface ChainReader {
  /**
   * Reads a chain to its end, committing every page, and returns upstream's time of the last answer. Goes on where an
   * unfinished run stopped; when upstream no longer takes that cursor, begins the chain anew, once. `pages` counts.
   */
  read(chain: Chain, context: PlanContext, pages?: { count: number }): Promise<{ date: number }>;
  /** Asks upstream's own description for the parameter names that the specification leaves open. */
  learnNames(): Promise<ParameterNames>;
  /** Whether upstream says that it has no such brand; true, too, when it said so before. */
  isBrandGone(brandId: string, context: PlanContext): Promise<boolean>;
}

/** What a chain reader works with. */
export interface ReaderParts {
  readonly catalogue: Catalogue;
  readonly warehouse: Warehouse;
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (tally: Tally) => void;
}

/** How upstream may say that it does not take a cursor any more: the specification leaves it open. */
const CURSOR_REFUSED: readonly (number | null)[] = [400, 404, 410, 422];

/** A cursor that is younger than this is not taken for forgotten. */
const CURSOR_MS_MIN = 60_000;

class CursorLost extends UpstreamError {
  constructor(path: string) {
    super('bad_answer', `upstream's cursor for ${path} leads to an empty page, as if it were forgotten`, {
      status: 200,
    });
  }
}

// The answered attempt is the last; what its page repeats is reported with its headers.
function noteRepeats(requests: Attempt[], implausible: readonly Implausible[]): void {
  const answered = requests.pop();
  if (answered === undefined) return;
  requests.push({ ...answered, implausible: [...(answered.implausible ?? []), ...implausible] });
}

// Which items a page has; pages with an item that cannot be told apart from others are never equal.
function keysOf(tables: readonly TableRows[]): string | null {
  const isKnown = tables.every(({ unidentified, rejectedCount }) => unidentified + rejectedCount === 0);
  return isKnown ? JSON.stringify(tables.map(({ seen }) => seen)) : null;
}

function isEmpty(tables: readonly TableRows[]): boolean {
  return tables.every(({ seen, unidentified }) => seen.length + unidentified === 0);
}

/** The chain reader of a run. */
export function createChainReader(parts: ReaderParts, run: RunRef, tally: Tally): ChainReader {
  const { catalogue, warehouse, client, signal } = parts;
  const readers = new Map<string, RowReader>();
  const readerOf = (name: string): RowReader => {
    const reader = readers.get(name) ?? createRowReader(catalogue, catalogue.get(name));
    readers.set(name, reader);
    return reader;
  };

  // Forms change rarely: what was noted already is not noted again.
  const noted = new Map<string, string>();
  const noteForms = async (resource: string, forms: ReadonlyMap<string, string>): Promise<void> => {
    const fresh = [...forms].filter(([name, value]) => noted.get(`${resource} ${name}`) !== value);
    if (fresh.length === 0) return;
    await warehouse.noteForms(resource, new Map(fresh));
    for (const [name, value] of fresh) noted.set(`${resource} ${name}`, value);
  };

  // What was sent and is not in the ledger yet.
  const collect = () => {
    const requests: Attempt[] = [];
    const onAttempt = (attempt: Attempt): void => {
      requests.push(attempt);
      tally.attempted(attempt);
      parts.onProgress?.(tally);
    };
    return { requests, onAttempt };
  };

  const readFrom = async (chain: Chain, from: string | null, pages: { count: number }): Promise<number> => {
    const { requests, onAttempt } = collect();
    const reader = readerOf(chain.resource);
    const resource = catalogue.get(chain.resource);
    let answer: (Pick<ReadPage, 'forms' | 'implausible'> & { body: unknown; bytes: Uint8Array }) | null = null;
    let date = parts.clock.now();
    let keysBefore: string | null = null;
    try {
      const walk = walkPages<readonly TableRows[]>(client, {
        request: { path: chain.path, query: chain.query, route: resource.path },
        read: (body, text) => {
          const { tables, forms, implausible } = readPage(resource, reader, chain, body, text);
          answer = { body, bytes: text.bytes, forms, implausible };
          return tables;
        },
        nextOf: (body) => nextOf(resource, body),
        from,
        signal,
        onAttempt,
      });
      for await (const page of walk) {
        // A page that follows has items. One without may be all that upstream says to a cursor it has forgotten.
        const isOld = page.cursor === from || page.date - date > CURSOR_MS_MIN;
        if (page.cursor !== null && isOld && isEmpty(page.value)) throw new CursorLost(chain.path);
        const keys = keysOf(page.value);
        if (keys !== null && keys === keysBefore && !isEmpty(page.value)) {
          throw new UpstreamError(
            'bad_answer',
            `upstream sends the same page again for another cursor of ${chain.path}`,
            {
              status: 200,
            },
          );
        }
        keysBefore = keys;
        pages.count += 1;
        date = page.date;
        const { body, bytes, forms, implausible } = answer as unknown as NonNullable<typeof answer>;
        answer = null;
        noteRepeats(requests, implausible);
        const query = page.cursor === null ? chain.query : { ...chain.query, cursor: page.cursor };
        const commit = {
          run,
          chain,
          tables: page.value,
          date,
          page: pages.count,
          next: page.next,
          untilKnown: chain.untilKnown,
          requests: requests.splice(0),
          arrival: { body, bytes, path: chain.path, query, member: chain.member },
        };
        const named = { 'sightline.resource': chain.resource, 'sightline.page': pages.count };
        const result = await inSpan('sync.commit', named, () => warehouse.commitPage(commit));
        await noteForms(chain.resource, forms);
        tally.page(chain, pages.count, result.ended, result);
        parts.onProgress?.(tally);
        if (result.ended) break;
      }
      return date;
    } finally {
      if (requests.length > 0) await warehouse.noteRequests(run, chain, requests);
    }
  };

  // What an unfinished read has brought is known, and what lies behind it is not: the known part is no end then.
  const restart = async (chain: Chain, pages: { count: number }): Promise<number> => {
    await warehouse.restartChain(chain.id);
    pages.count = 0;
    return readFrom({ ...chain, untilKnown: false }, null, pages);
  };

  return {
    read: async (chain, context, pages = { count: 0 }) => {
      const resume = resumePoint(chain, context);
      pages.count = resume?.pages ?? 0;
      const isStale = resume === null && context.begun.has(chain.id);
      let date: number;
      try {
        date = isStale ? await restart(chain, pages) : await readFrom(chain, resume?.cursor ?? null, pages);
      } catch (thrown) {
        // What is refused after a first page, or with a cursor kept from an earlier run, is the cursor.
        const isRefused = thrown instanceof UpstreamError && CURSOR_REFUSED.includes(thrown.status) && pages.count > 0;
        if (!isRefused && !(thrown instanceof CursorLost)) throw thrown;
        date = await restart(chain, pages);
      }
      tally.closed(chain, pages.count);
      return { date };
    },
    learnNames: async () => {
      const asked = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
      const { requests, onAttempt } = collect();
      try {
        const answer = await client.get(asked, (body) => learnParameterNames(catalogue.resources, body), {
          signal,
          onAttempt,
        });
        for (const [resource, names] of answer.value) {
          const forms = Object.entries(names).map(([declared, name]): [string, string] => [
            parameterForm(declared),
            name,
          ]);
          await noteForms(resource, new Map(forms));
        }
        return answer.value;
      } catch (thrown) {
        // Upstream may have no description; the declared names are used then.
        if (!(thrown instanceof UpstreamError)) throw thrown;
        return new Map();
      } finally {
        await warehouse.noteRequests(run, { id: OPENAPI_PATH, resource: 'openapi' }, requests);
      }
    },
    isBrandGone: async (brandId, context) => {
      const [detail] = detailsOf(catalogue, providerOf(catalogue, 'brand').name);
      if (detail === undefined) return false;
      const scope = { member: brandId, reason: 'is it still there', priority: 0 };
      const [chain] = chainsOf(detail, scope, context.names) as [Chain];
      const { requests, onAttempt } = collect();
      try {
        await client.get({ path: chain.path, query: {}, route: detail.path }, () => null, { signal, onAttempt });
        return false;
      } catch (thrown) {
        return thrown instanceof UpstreamError && thrown.status === 404;
      } finally {
        await warehouse.noteRequests(run, chain, requests);
      }
    },
  };
}
