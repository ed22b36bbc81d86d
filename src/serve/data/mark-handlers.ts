import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Service } from '../../read/service.ts';
import { addMark, readMarks } from '../../workspace/marks-file.ts';
import { type Access, checkRights } from '../auth/access.ts';
import { sendJson, sendValue } from '../http/content/send.ts';
import { typedJsonOf } from '../http/json-body.ts';
import { DATA_PATHS, pageRoute } from '../http/page-paths.ts';
import { type Handler, READ, type Route, WRITING } from '../http/paths.ts';
import { serviceFor } from '../http/read-handler.ts';

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
 * Creates the route of the marks of a workspace: GET returns their history, of the brands that the reader may see, and POST adds a mark,
 * with the time and the name of the key.
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
    const at = new Date(clock.now()).toISOString();
    const by = request.visit.access?.key?.name ?? null;
    return sendJson(request, reply, await addMark(folder, { ...given, at, by }));
  };
  const handler: Handler = (request, reply) => (request.method === 'POST' ? add : list)(request, reply);
  const route = pageRoute(DATA_PATHS.marks, handler, { methods: [...READ, 'POST'] });
  return [{ ...route, bodyBytesMax: BODY_BYTES_MAX }];
}
