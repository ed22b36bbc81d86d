import type { FastifyRequest } from 'fastify';
import { isRecord } from '../../base/json.ts';
import type { FirstRun } from '../../operations/first-run.ts';
import { toShownTexts } from '../../query/shown-text.ts';
import { sendJson } from '../http/content/send.ts';
import { SETUP_PATHS } from '../http/page-paths.ts';
import { type Handler, READ, type Route } from '../http/paths.ts';
import { Refusal } from '../http/refusal.ts';

/** Maximum length of the base URL and of the API key. */
const FIELD_CHARACTERS_MAX = 2_000;

/** Creates the routes of the setup, which is for the owner of the folder only. */
export function createSetupRoutes(setup: FirstRun): Route[] {
  const route = (path: string, methods: readonly string[], answer: (request: FastifyRequest) => unknown): Route => {
    const handler: Handler = async (request, reply) =>
      sendJson(request, reply, toShownTexts((await answer(request)) as object));
    return { path, methods, isOpen: false, isPage: true, forOwner: true, handler };
  };
  return [
    route(SETUP_PATHS.state, READ, () => setup.state()),
    route(SETUP_PATHS.test, ['POST'], (request) => setup.test(readFields(request))),
    route(SETUP_PATHS.estimate, ['POST'], () => setup.estimate()),
    route(SETUP_PATHS.start, ['POST'], () => setup.start()),
  ];
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
