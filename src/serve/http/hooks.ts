import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beginSpan } from '../../base/trace.ts';
import type { AccessControl } from '../auth/access-control.ts';
import type { SiteOAuth } from '../auth/oauth/oauth.ts';
import type { App } from '../pages/app-files.ts';
import { PAGE_HEADERS } from '../pages/site-pages.ts';
import type { LogRequest } from '../telemetry/server-log.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { isPagePath } from './page-paths.ts';
import { BASE_PATH, splitUrl } from './paths.ts';
import { ClientLeft } from './read-handler.ts';
import { toErrorReply } from './refusal.ts';
import { newVisit } from './visit.ts';

/** Response headers exposed to web pages of allowed origins. */
const EXPOSED_HEADERS = [
  'Content-Disposition',
  'ETag',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Data-As-Of',
  'X-Data-Coverage',
  'X-Next-Cursor',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-Request-Id',
  'X-Sync-Progress',
];
const PREFLIGHT_SECONDS = 600;

/** Adds the access control before every route, including unknown ones, and the log and metrics after them. */
export async function addHooks(
  app: FastifyInstance,
  accessControl: AccessControl,
  logRequest: LogRequest,
  telemetry: Telemetry | null,
  corsOrigins: readonly string[],
  monotonic: () => number,
  oauth: SiteOAuth | null,
  pages: App | null,
): Promise<void> {
  const finish = (request: FastifyRequest, reply: FastifyReply): void => {
    const { visit } = request;
    visit.leaving?.abort(new ClientLeft());
    const tookMs = monotonic() - visit.startedAtMs;
    logRequest(request, reply, tookMs);
    telemetry?.observe(visit, reply.raw.statusCode, tookMs);
    endSpan(request, reply);
  };
  app.decorateRequest('visit', null as never);
  app.addHook('onRequest', (request, reply, done) => {
    request.visit = newVisit(monotonic(), request.id, beginSpan(request.method, request.headers));
    // Also without Origin in the request, because a cache may reuse the response for a page.
    if (corsOrigins.length > 0) reply.header('vary', 'Origin');
    // Also emitted if the client disconnects before the response.
    reply.raw.once('close', () => finish(request, reply));
    request.visit.span.within(() => attempt(() => accessControl.arrive(request), done));
  });
  // Reading a body resumes in the socket's async context, so restore the span's context here.
  app.addHook('preHandler', (request, _reply, done) => request.visit.span.within(done));
  // Must be set before any route is added, because routes keep the handler that exists at that time.
  app.setErrorHandler(async (thrown, request, reply) => {
    const { status, headers, body, unexpected } = toErrorReply(thrown, request.id);
    const page =
      pages !== null && isMissingPage(request, status) ? await pages.document(request).catch(() => null) : null;
    if (page !== null) {
      request.visit.cache = null;
      request.visit.bytes = page.bytes.length;
      return reply.code(status).headers(headers).headers(PAGE_HEADERS).type(page.mediaType).send(page.bytes);
    }
    if (unexpected !== null && !(thrown instanceof ClientLeft)) request.log.error({ id: request.id, err: unexpected });
    request.visit.cache = null;
    request.visit.bytes = request.method === 'HEAD' ? 0 : Buffer.byteLength(body);
    return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body);
  });
  if (corsOrigins.length > 0) {
    await app.register(cors, (_app: FastifyInstance) => (request: FastifyRequest, done: CorsDecision) => {
      // Only browsers send Origin, so skip the rest for other clients.
      const isPage = request.headers.origin !== undefined;
      const isPreflight = request.headers['access-control-request-method'] !== undefined;
      // Pages and their data are never available to other origins, even to those that may use the API.
      const isOurs = isPagePath(splitUrl(request.raw.url ?? '')[0]);
      const asked = isPage && !isOurs && (request.method !== 'OPTIONS' || isPreflight);
      const { methods, exposedHeaders, maxAge } = corsOptions;
      done(null, { origin: asked ? [...corsOrigins] : false, methods, exposedHeaders, maxAge });
    });
  }
  // Before the access control, which reads the result: checking an access token may take a request to its issuer.
  if (oauth !== null) {
    app.addHook('onRequest', (request, _reply, done) => void oauth.check(request.raw).then(() => done(), done));
  }
  app.addHook('onRequest', (request, _reply, done) => {
    // The OPTIONS route serves only preflights, which are handled before this hook.
    if (request.is404 || request.method === 'OPTIONS') attempt(() => accessControl.admit(request, undefined), done);
    else done();
  });
  app.addHook('onSend', (request, reply, _body, done) => {
    reply.headers(request.visit.headers);
    done();
  });
}

// A browser that opens an address without a page shows a page that says so, or the sign-in page. Programs get JSON.
function isMissingPage({ method, headers, raw }: FastifyRequest, status: number): boolean {
  const isBrowser = method === 'GET' && /^text\/html\b/.test(headers.accept ?? '');
  const [path] = splitUrl(raw.url ?? '');
  return isBrowser && (status === 404 || status === 401) && path !== BASE_PATH && !path.startsWith(`${BASE_PATH}/`);
}

function endSpan({ visit, method }: FastifyRequest, reply: FastifyReply): void {
  const { span, route } = visit;
  const { statusCode } = reply.raw;
  if (route !== null) span.rename(`${method} ${route}`);
  span.set({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': statusCode });
  span.set({ 'sightline.answer': visit.cache });
  if (statusCode >= 500) span.fail(null);
  span.end();
}

type CorsDecision = (error: Error | null, options?: object) => void;

const corsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'DELETE'],
  exposedHeaders: EXPOSED_HEADERS,
  maxAge: PREFLIGHT_SECONDS,
};

/** Runs a step of a hook; an exception becomes the response. */
export function attempt(step: () => void, done: (error?: Error) => void): void {
  try {
    step();
  } catch (thrown) {
    done(thrown as Error);
    return;
  }
  done();
}
