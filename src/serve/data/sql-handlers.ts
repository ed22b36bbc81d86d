import type { FastifyReply, FastifyRequest } from 'fastify';
import { SightlineError } from '../../base/errors.ts';
import { gallery } from '../../metrics/gallery/gallery.ts';
import type { SavedQueries } from '../../operations/sql/saved-queries.ts';
import type { SqlCaller, SqlResult, SqlService } from '../../operations/sql/sql-service.ts';
import { sendBytes, sendJson, sendValue } from '../http/content/send.ts';
import { pageRoute, SQL_PATHS } from '../http/page-paths.ts';
import { type Endpoint, type Handler, READ, type Route } from '../http/paths.ts';
import { leavingOf } from '../http/read-handler.ts';
import { Refusal } from '../http/refusal.ts';
import { fileHeaders, sqlFormatOf } from './sql-files.ts';
import { ifMatchOf, questionOf, textOf } from './sql-request.ts';

/** For saved queries, which browsers check before each use. */
const CHECKED = 'private, no-cache';

/** Dependencies of the handlers. */
export interface SqlParts {
  readonly sql: SqlService;
  readonly saved: SavedQueries;
  /** Returns the session and the brands of an admitted request. */
  readonly callerOf: (request: FastifyRequest) => Promise<SqlCaller>;
}

/** Creates the routes of the SQL page. Saved queries may name any brand, so they need a key for all. */
export function createSqlRoutes({ sql, saved, callerOf }: SqlParts): Route[] {
  const run: Handler = async (request, reply) => {
    const question = questionOf(request);
    const format = sqlFormatOf(request.headers.accept);
    const rowsMax = format === 'json' ? question.rowsMax : null;
    const caller = await callerOf(request);
    const asked = { ...question, rowsMax, format: format === 'json' ? null : format };
    const result = await sql.run(caller, asked, leavingOf(request, reply));
    if (format === 'json') return sendJsonTable(request, reply, question.sql, result);
    reply.headers({ ...fileHeaders(format), 'cache-control': 'no-store' });
    return sendBytes(request, reply, result.bytes);
  };
  const cancel: Handler = async (request, reply) => {
    const { session } = await callerOf(request);
    const { id } = request.params as { id: string };
    if (!sql.cancel(session, id))
      throw new SightlineError('not_found', 'This session has no running query with this id.');
    return reply.code(204).send();
  };
  const schema: Handler = async (request, reply) => {
    const { tables } = await sql.schema(await callerOf(request), leavingOf(request, reply));
    return sendValue(request, reply, { tables });
  };
  const list: Handler = async (request, reply) => sendValue(request, reply, { queries: await saved.list() });
  const route = (path: string, handler: Handler, more: Partial<Endpoint> = {}): Route =>
    pageRoute(path, handler, { scopes: ['sql'], ...more });
  return [
    route(SQL_PATHS.run, run, { methods: ['POST'] }),
    route(SQL_PATHS.schema, schema),
    route(SQL_PATHS.gallery, (request, reply) => sendValue(request, reply, { queries: gallery() })),
    route(SQL_PATHS.saved, list, { forAllBrands: true }),
    route(SQL_PATHS.savedQuery, createSavedHandler(saved), {
      methods: [...READ, 'PUT', 'PATCH', 'DELETE'],
      forAllBrands: true,
    }),
    route(SQL_PATHS.query, cancel, { methods: ['DELETE'] }),
  ];
}

// A new query is written with If-None-Match: *, all other changes with If-Match and the ETag that was read.
function createSavedHandler(saved: SavedQueries): Handler {
  return async (request, reply) => {
    const { name } = request.params as { name: string };
    reply.header('cache-control', CHECKED);
    const sent = (query: { readonly etag: string }): FastifyReply =>
      sendJson(request, reply.header('etag', `"${query.etag}"`), query, CHECKED);
    switch (request.method) {
      case 'PUT': {
        const sql = textOf(request, 'sql');
        const isNew = request.headers['if-none-match']?.trim() === '*';
        return sent(await saved.write(name, sql, isNew ? 'new' : required(request)));
      }
      case 'PATCH':
        return sent(await saved.rename(name, textOf(request, 'name'), required(request)));
      case 'DELETE':
        await saved.remove(name, required(request));
        return reply.code(204).send();
      default:
        return sent(await saved.read(name));
    }
  };
}

function required(request: FastifyRequest): string {
  const given = ifMatchOf(request);
  if (given !== undefined) return given;
  const allowed = 'If-Match with the ETag of the saved query, or If-None-Match: * for a new one';
  throw new Refusal('invalid_parameter', `the header If-Match is missing; allowed: ${allowed}`, {}, { allowed });
}

// A value that is nested too deeply to be written as JSON is sent as text, like all JSON of its result.
function sendJsonTable(request: FastifyRequest, reply: FastifyReply, sql: string, result: SqlResult): FastifyReply {
  try {
    return sendJson(request, reply, toTable(sql, result, 'JSON'));
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return sendJson(request, reply, toTable(sql, result, null));
  }
}

/** Returns the result in the form of all tables of pages. Values of the type `parsedType` are parsed. */
function toTable(
  sql: string,
  { columns, rows, isTruncated, rowsTotal, elapsedMs, asOf, completeTo }: SqlResult,
  parsedType: string | null,
) {
  const isJson = columns.map(({ type }) => type === parsedType);
  return {
    name: 'query',
    about: 'The result of a query.',
    columns: columns.map((column) => ({ ...column, about: '' })),
    rows: isJson.includes(true)
      ? rows.map((row) => row.map((value, at) => (isJson[at] ? parsed(value) : value)))
      : rows,
    sql,
    asOf,
    completeTo,
    partial: false,
    from: null,
    to: null,
    truncated: isTruncated,
    rowsTotal,
    elapsedMs,
  };
}

function parsed(value: unknown): unknown {
  return typeof value === 'string' ? (JSON.parse(value) as unknown) : value;
}
