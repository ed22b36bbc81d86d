import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { dayOf } from '../../contract/time.ts';
import { upstreamNotes } from '../../metrics/calibration/upstream-notes.ts';
import { describeModel } from '../../metrics/model/measures.ts';
import { dataOperations, hasRowsIn } from '../../read/metrics/data-operations.ts';
import { describeQueries, runDeclaredQuery } from '../../read/metrics/run-declared.ts';
import type { MetricsSource, TableResult } from '../../read/metrics/table-result.ts';
import type { ServedReplica } from '../../read/open-replica.ts';
import type { Service } from '../../read/service.ts';
import { toBytes } from '../http/content/content-cache.ts';
import { entityTag, isNotModified, matchesAnything } from '../http/content/etag.ts';
import { encodingOf, type Format, fileOf, formatOf, varyOf } from '../http/content/negotiation.ts';
import { notModified, sendBytes, sendValue } from '../http/content/send.ts';
import { DATA_PATHS, pageRoute } from '../http/page-paths.ts';
import { type Handler, type Route, splitUrl } from '../http/paths.ts';
import { leavingOf, serviceFor } from '../http/read-handler.ts';
import type { Answers, Computable } from '../http/responses.ts';
import { toListPage } from './list-page.ts';

/** Dependencies of the handlers. */
export interface DataParts {
  readonly service: Service;
  readonly clock: Clock;
  readonly answers: Answers;
}

/** Creates the routes of the tables that pages show. */
export function createDataRoutes({ service, clock, answers }: DataParts): Route[] {
  const { catalogue } = service;
  const handler = (run: Run, hasRows: boolean): Handler => {
    return async (request, reply) => {
      const name = nameOf(request);
      const given = new URLSearchParams(splitUrl(request.raw.url ?? '')[1]);
      const replica = await serviceFor(service, request).newest();
      const nowMs = clock.now();
      const computable: Computable = {
        version: versionOf(replica, nowMs, request.routeOptions.url ?? '', name, given),
        answer: async (signal = new AbortController().signal) => {
          const body = await run({ replica, catalogue, nowMs, signal }, name, given);
          return { body, list: hasRows ? toListPage(body as TableResult) : null, nextCursor: null };
        },
      };
      const format = hasRows ? formatOf(request.headers.accept) : 'json';
      return send(request, reply, computable, { name, format, answers });
    };
  };
  const model: Handler = async (request, reply) => {
    const replica = await serviceFor(service, request).newest().catch(withoutData);
    const upstream = replica === null ? {} : upstreamNotes(replica.conventions, replica.doubts);
    return sendValue(request, reply, { ...describeModel(), upstream });
  };
  return [
    ...dataOperations.map((operation) =>
      pageRoute(
        operation.path,
        handler((source, _name, given) => operation(source, given), hasRowsIn(operation)),
      ),
    ),
    pageRoute(DATA_PATHS.queries, (request, reply) => sendValue(request, reply, describeQueries())),
    pageRoute(DATA_PATHS.query, handler(runDeclaredQuery, true)),
    pageRoute(DATA_PATHS.model, model),
  ];
}

// The model exists before the first sync.
function withoutData(thrown: unknown): null {
  if (thrown instanceof SightlineError && thrown.code === 'no_data') return null;
  throw thrown;
}

type Run = (source: MetricsSource, name: string, given: URLSearchParams) => Promise<object>;

// The last segment of the path.
function nameOf({ params, routeOptions: { url = '' } }: FastifyRequest): string {
  return (params as Record<string, string>)['name'] ?? url.slice(url.lastIndexOf('/') + 1);
}

// The day determines the default range. A sync may confirm the data without changing them, so its end is included.
function versionOf(
  { version, lastRun, allowedBrands }: ServedReplica,
  nowMs: number,
  path: string,
  name: string,
  given: URLSearchParams,
): string {
  const sorted = new URLSearchParams(given);
  sorted.sort();
  const limit = allowedBrands === null ? null : [...allowedBrands].toSorted();
  const parts = [VERSION, version, limit, lastRun?.endedAt ?? null, dayOf(nowMs), path, name, sorted.toString()];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  computable: Computable,
  { name, format, answers }: { readonly name: string; readonly format: Format; readonly answers: Answers },
): Promise<FastifyReply> {
  // Parquet is already compressed internally.
  const encoding = format === 'parquet' ? 'identity' : encodingOf(request.headers['accept-encoding']);
  const tag = entityTag(computable.version, format, encoding);
  reply.headers({
    etag: tag,
    'cache-control': 'private, no-cache',
    vary: varyOf(reply, 'Accept, Accept-Encoding'),
  });
  const condition = request.headers['if-none-match'];
  if (isNotModified(condition, tag)) return notModified(request, reply);
  const kept = answers.kept(computable, format, encoding);
  const content = kept ?? (await answers.compute(computable, format, encoding, leavingOf(request, reply)));
  if (matchesAnything(condition)) return notModified(request, reply);
  request.visit.cache = kept === undefined ? 'computed' : 'kept';
  if (format !== 'json') reply.header('content-disposition', fileOf(name, format));
  if (content.encoding !== null) reply.header('content-encoding', content.encoding);
  return sendBytes(request, reply.header('content-type', content.mediaType), toBytes(content.body));
}
