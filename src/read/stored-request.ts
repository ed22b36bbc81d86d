import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { Query as CheckedQuery } from '../contract/query-parameters.ts';
import type { Query } from '../warehouse/database.ts';
import type { Position } from './cursor-signer.ts';
import type { RowCache } from './row-cache.ts';

/** A request for items stored as received from upstream. */
export interface StoredRequest {
  readonly catalogue: Catalogue;
  readonly query: Query;
  readonly resource: Resource;
  readonly brandId: string | null;
  /** Id of the row, for a detail. */
  readonly member: string | null;
  /** Path parameters from the row of another list; default: none. */
  readonly parent?: Readonly<Record<string, string>>;
  readonly asked: CheckedQuery;
  /** End of the previous page; null for the first page. */
  readonly after: Pick<Position, 'at' | 'id'> | null;
  /** Order of a paged list, as `src/contract/list-order.ts` describes it. */
  readonly order: readonly string[];
  /** Ids of the brands to which the reader is limited; null for all. */
  readonly allowedBrands: ReadonlySet<string> | null;
  /** Keeps how the rows of tables are spread over time; null to read every range at once. */
  readonly rowCache: RowCache | null;
  /** Whether filters by a list also match its deleted rows. */
  readonly keepsDeleted: boolean;
}
