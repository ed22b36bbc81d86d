import { toExactJson } from '../base/json.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { CachedPage } from './cached-items.ts';
import { BATCH_ITEMS } from './item-cache.ts';
import { pageOrder } from './keyset.ts';
import type { ServedReplica } from './open-replica.ts';
import { isFiltered } from './selected-rows.ts';
import { readPage, readRows, servedTable, WITHOUT_FILTERS } from './stored-items.ts';
import type { StoredRequest } from './stored-request.ts';

/** Returns a page from the cached items; null if the list is filtered or items of the page are not cached. */
export async function cachedPage(
  request: Omit<StoredRequest, 'query'>,
  { items, replica }: ServedReplica,
): Promise<CachedPage | null> {
  const { asked, after, order, rowCache } = request;
  const table = cachedTableOf(request);
  if (table === null) return null;
  const whole = { ...request, ...WITHOUT_FILTERS, order, rowCache };
  const batch = { ...whole.asked, values: { limit: BATCH_ITEMS } };
  const list = items.list(cacheKey(request), (from) =>
    replica.work(
      async (_query, _read, query) => {
        const page = await readPage({ ...whole, query, asked: batch, after: from }, table);
        return { texts: page.items.map(toExactJson), places: page.places ?? [], hasMore: page.last !== null };
      },
      undefined,
      'background',
    ),
  );
  if (list === null || isFiltered(request, table)) return null;
  const range = table.extent.kind === 'time' ? asked : null;
  return list.page({ range, after, limit: Number(asked.values['limit']) });
}

/** Finds a page of a filtered list with SQL, and returns its items from memory; null if the list is not in memory. */
export async function findCachedPage(request: StoredRequest, { items }: ServedReplica): Promise<CachedPage | null> {
  const table = cachedTableOf(request);
  const list = table === null ? null : items.known(cacheKey(request));
  if (table === null || list?.isInMemory() !== true || !isFiltered(request, table)) return null;
  const { places, hasMore } = await readRows(request, servedTable(request, table), []);
  const text = list.pick(places);
  return text === null ? null : { pieces: [text], last: hasMore ? (places.at(-1) ?? null) : null };
}

function cacheKey({ resource, brandId }: Omit<StoredRequest, 'query'>): string {
  return `${resource.name} ${brandId}`;
}

// Returns the table of a list that is cached. Returns null for lists without pages, and for lists below a row of another list.
function cachedTableOf(request: Omit<StoredRequest, 'query'>): ResourceTable | null {
  const { resource, member, parent = {} } = request;
  const [table, ...others] = resource.derived;
  if (resource.paging !== 'cursor' || table === undefined || others.length > 0) return null;
  if (member !== null || resource.each !== undefined || Object.keys(parent).length > 0) return null;
  const { extent } = table;
  return extent.kind === 'time' && extent.field !== pageOrder(request, table).time.name ? null : table;
}
