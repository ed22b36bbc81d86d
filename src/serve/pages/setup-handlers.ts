import type { FastifyReply, FastifyRequest } from 'fastify';
import { isRecord } from '../../base/json.ts';
import type { FirstRun } from '../../operations/first-run.ts';
import { toShownTexts } from '../../query/shown-text.ts';
import { SETUP_PATHS } from '../http/page-paths.ts';
import { Refusal } from '../http/refusal.ts';

/** Maximum length of the base URL and of the API key. */
const FIELD_CHARACTERS_MAX = 2_000;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Creates the handlers of the setup, by path. Only the owner of the folder reaches them. */
export function createSetupHandlers(setup: FirstRun): ReadonlyMap<string, Handler> {
  return new Map<string, Handler>([
    [SETUP_PATHS.state, async (request, reply) => send(request, reply, setup.state())],
    [SETUP_PATHS.test, async (request, reply) => send(request, reply, await setup.test(readFields(request)))],
    [SETUP_PATHS.estimate, async (request, reply) => send(request, reply, setup.estimate())],
    [SETUP_PATHS.start, async (request, reply) => send(request, reply, setup.start())],
  ]);
}

function send(request: FastifyRequest, reply: FastifyReply, value: object): FastifyReply {
  const bytes = Buffer.from(JSON.stringify(toShownTexts(value)));
  request.visit.bytes = request.method === 'HEAD' ? 0 : bytes.length;
  return reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }).send(bytes);
}

// The message must not quote the body, which contains the key.
function readFields({ headers, body }: FastifyRequest): { readonly baseUrl: string; readonly key: string } {
  const refusal = new Refusal(
    'bad_request',
    `The body must be JSON, {"baseUrl": "…", "key": "…"}, of type application/json, each at most ${FIELD_CHARACTERS_MAX} characters.`,
  );
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '') || typeof body !== 'string') throw refusal;
  let given: unknown = null;
  try {
    given = JSON.parse(body);
  } catch {
    throw refusal;
  }
  if (!isRecord(given)) throw refusal;
  return { baseUrl: toField(given['baseUrl'], refusal), key: toField(given['key'], refusal) };
}

function toField(value: unknown, refusal: Refusal): string {
  if (typeof value !== 'string') throw refusal;
  const text = value.trim();
  if (text === '' || text.length > FIELD_CHARACTERS_MAX) throw refusal;
  return text;
}
