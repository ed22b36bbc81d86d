import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { OWNER_MARKS } from '../../metrics/explain/mark-kinds.ts';
import type { Service } from '../../read/service.ts';
import type { Replica } from '../../warehouse/replica.ts';
import { addMark, hasMarks, type Mark, readMarks } from '../../workspace/marks-file.ts';
import { type Access, checkRights } from '../auth/access.ts';
import { sendJson, sendValue } from '../http/content/send.ts';
import { typedJsonOf } from '../http/json-body.ts';
import { DATA_PATHS, pageRoute } from '../http/page-paths.ts';
import { type Handler, READ, type Route, WRITING } from '../http/paths.ts';
import { serviceFor } from '../http/read-handler.ts';
import { wrongProperty } from './sql-request.ts';

/** Size of the body of a mark: the longest address of a page, with its escapes. */
const BODY_BYTES_MAX = 16_384;

/** Parts of the handlers. */
export interface MarkParts {
  /** Folder of the workspace. */
  readonly folder: string;
  readonly service: Service;
  readonly clock: Clock;
}

/**
 * Creates the route of the marks of a workspace. GET returns the marks of the brands that the reader may read, with their history. POST
 * adds a mark with the time and the name of the key.
 */
export function createMarkRoutes({ folder, service, clock }: MarkParts): Route[] {
  const list: Handler = async (request, reply) => {
    const { brands } = await serviceFor(service, request).newest();
    return sendValue(request, reply, { marks: readMarks(folder).filter(({ brandId }) => brands.has(brandId)) });
  };
  const add: Handler = async (request, reply) => {
    checkRights(WRITING, request.visit.access as Access);
    const given = typedJsonOf(request);
    if (given === null) throw new SightlineError('invalid_parameter', 'the body is not a JSON object');
    const { brandId, kind, value } = given as Partial<Mark>;
    const replica = await service.newest();
    checkBrand(replica.brands, brandId);
    if (kind === 'domain') await checkOwner(replica.replica, brandId, value);
    const at = new Date(clock.now()).toISOString();
    const by = request.visit.access?.key?.name ?? null;
    const stored = hasMarks(folder) ? [] : await storedMarks(replica.replica, at);
    return sendJson(request, reply, await addMark(folder, { ...given, at, by }, stored));
  };
  const handler: Handler = (request, reply) => (request.method === 'POST' ? add : list)(request, reply);
  const route = pageRoute(DATA_PATHS.marks, handler, { methods: [...READ, 'POST'] });
  return [{ ...route, bodyBytesMax: BODY_BYTES_MAX }];
}

// The marks that the replica was published with.
async function storedMarks(replica: Replica, at: string): Promise<Mark[]> {
  const sql = 'SELECT CAST(brand_id AS VARCHAR), kind, id, value FROM mart.marks WHERE NOT is_setting';
  const rows = await replica.work((query) => query(sql));
  return rows.map(([brandId, kind, id, value]) => ({ brandId, kind, id, value, at, by: null }) as Mark);
}

/** Checks the id of a current brand. Throws `invalid_parameter`. */
export function checkBrand(brands: ReadonlyMap<string, unknown>, brandId: unknown): asserts brandId is string {
  if (typeof brandId !== 'string' || !brands.has(brandId))
    throw wrongProperty('brandId', brandId, 'the id of a current brand');
}

// Rejects owners that the marts would ignore.
async function checkOwner(replica: Replica, brandId: string, value: unknown): Promise<void> {
  if (typeof value !== 'string' || Object.hasOwn(OWNER_MARKS, value)) return;
  const sql = 'SELECT 1 FROM mart.dim_competitor WHERE brand_id = $1 AND CAST(competitor_id AS VARCHAR) = $2';
  const rows = await replica.work((query) => query(sql, [brandId, value]));
  if (rows.length > 0) return;
  throw wrongProperty('value', value, `${Object.keys(OWNER_MARKS).join(', ')}, or the id of a competitor of the brand`);
}
