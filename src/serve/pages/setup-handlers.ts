import type { FastifyRequest } from 'fastify';
import type { FirstRun } from '../../operations/first-run.ts';
import { toShownTexts } from '../../read/shown-text.ts';
import { sendJson } from '../http/content/send.ts';
import { typedJsonOf } from '../http/json-body.ts';
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
function readFields(request: FastifyRequest): { readonly baseUrl: string; readonly key: string } {
  const given = typedJsonOf(request) ?? {};
  const [baseUrl, key] = [given['baseUrl'], given['key']].map((value) =>
    typeof value === 'string' ? value.trim() : '',
  );
  const isField = (text: string | undefined): text is string =>
    text !== undefined && text !== '' && text.length <= FIELD_CHARACTERS_MAX;
  if (isField(baseUrl) && isField(key)) return { baseUrl, key };
  throw new Refusal(
    'bad_request',
    `The body must be JSON, {"baseUrl": "…", "key": "…"}, of type application/json, each at most ${FIELD_CHARACTERS_MAX} characters.`,
  );
}
