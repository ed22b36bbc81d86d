import type { FastifyReply, FastifyRequest } from 'fastify';
import { VERSION } from '../../base/version.ts';
import type { StoredSession } from '../../workspace/stored-sessions.ts';
import { sendJson } from '../http/content/send.ts';
import { typedJsonOf } from '../http/json-body.ts';
import { type Handler, READ, type Route } from '../http/paths.ts';
import { nothingThere, Refusal } from '../http/refusal.ts';
import type { AccessControl } from './access-control.ts';
import { type Access, isOwner } from './access.ts';
import type { Authentication } from './authentication.ts';
import type { Keyring } from './keys.ts';
import { isSecure, sessionCookie } from './session-cookie.ts';
import { SESSION_MS, type Sessions } from './sessions.ts';
import { shortAgent } from './user-agent.ts';

/** Maximum length of the body with a secret. */
const SECRET_BYTES_MAX = 4_096;
const SESSION_SECONDS = SESSION_MS / 1_000;

/** Dependencies of `createSessionRoutes`. */
export interface SessionHandlerParts {
  readonly sessions: Sessions;
  readonly authentication: Authentication;
  readonly accessControl: AccessControl;
  readonly keyring: Keyring;
  /** The workspace of the site; null for the address that several share. */
  readonly workspace: string | null;
  /** Whether the server has several workspaces. */
  readonly isFleet: boolean;
  /** Whether the workspace can be set up through the pages. */
  readonly hasSetup: boolean;
  /** Whether the workspace has data; null if the site has no workspace. */
  readonly hasData: () => Promise<boolean | null>;
}

/**
 * Creates the routes of signing in and out. Signing in is open; the secret is in the body. The end of a session is checked in its handler,
 * which is the same.
 */
export function createSessionRoutes(parts: SessionHandlerParts): Route[] {
  const { sessions } = parts;
  const me: Handler = async (request, reply) =>
    sendJson(request, reply, await describe(parts, accessOrNull(parts, request)));
  const session: Handler = (request, reply) =>
    request.method === 'POST' ? signIn(parts, request, reply) : signOut(parts, request, reply);
  const list: Handler = async (request, reply) => {
    const access = request.visit.access as Access;
    const visible = sessions.list().filter((one) => mayManage(access, one));
    return sendJson(request, reply, { sessions: visible.map((one) => describeSession(parts, one, access)) });
  };
  const end: Handler = async (request, reply) => {
    const { id } = request.params as { id: string };
    const one = sessions.list().find((known) => known.id === id);
    if (one === undefined || !mayManage(request.visit.access as Access, one)) throw nothingThere();
    await sessions.end(one.id);
    return reply.code(204).send();
  };
  const route = (path: string, methods: readonly string[], isOpen: boolean, handler: Handler): Route => {
    return { path, methods, isOpen, isPage: true, handler, bodyBytesMax: SECRET_BYTES_MAX };
  };
  return [
    route('/data/me', READ, true, me),
    route('/data/session', ['POST', 'DELETE'], true, session),
    route('/data/sessions', READ, false, list),
    route('/data/sessions/{id}', ['DELETE'], false, end),
  ];
}

async function signIn(parts: SessionHandlerParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { authentication } = parts;
  const { remoteAddress } = request.raw.socket;
  const given = readSecret(request);
  const userAgent = request.headers['user-agent'] ?? '';
  const opened =
    'token' in given
      ? await parts.sessions.openWithLink(given.token, userAgent)
      : await parts.sessions.openWithKey(countedKey(parts, given.key, remoteAddress), userAgent);
  if (opened === null) {
    authentication.countWrong(remoteAddress, 'sign-in links');
    throw new Refusal('unauthorized', 'The sign-in link was used or has expired; create one with `sightline open`.');
  }
  const cookie = sessionCookie(request.headers, opened.text, SESSION_SECONDS);
  const access = authentication.ofSession(opened.session, opened.text);
  return sendJson(request, reply.header('set-cookie', cookie), {
    ...(await describe(parts, access)),
    // Browsers drop such a cookie if they are connected without TLS.
    secure: isSecure(request.headers),
  });
}

// Returns the id of a valid key and counts the sign-in as a request.
function countedKey({ authentication, accessControl }: SessionHandlerParts, key: string, address?: string): string {
  const { id } = authentication.activeKey(key, address);
  accessControl.countSignIn(id);
  return id;
}

async function signOut(
  { accessControl, sessions }: SessionHandlerParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const access = accessControl.checkChange(request);
  if (access.session === null) throw new Refusal('bad_request', 'The request has no session to end.');
  await sessions.end(access.session);
  return reply
    .header('set-cookie', sessionCookie(request.headers, '', 0))
    .code(204)
    .send();
}

function readSecret(request: FastifyRequest): { readonly token: string } | { readonly key: string } {
  const { token, key } = typedJsonOf(request) ?? {};
  if (typeof token === 'string' && key === undefined) return { token };
  if (typeof key === 'string' && token === undefined) return { key };
  throw new Refusal('bad_request', 'The body must be JSON, {"token": "…"} or {"key": "…"}, of type application/json.');
}

// The page asks before it has signed in, and a wrong credential is the same as none for it.
function accessOrNull({ accessControl }: SessionHandlerParts, request: FastifyRequest): Access | null {
  try {
    return accessControl.accessOf(request);
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.code === 'unauthorized') return null;
    throw thrown;
  }
}

async function describe(parts: SessionHandlerParts, access: Access | null): Promise<object> {
  const { workspace, isFleet } = parts;
  if (access === null) {
    return {
      access: 'none',
      signedIn: false,
      key: null,
      scopes: [],
      workspace: null,
      workspaces: null,
      csrf: null,
      version: VERSION,
      hasData: null,
      features: { sql: false, marks: false, operations: false, setup: false },
    };
  }
  const { via, key, scopes, brands, workspaces, csrf } = access;
  const opens = workspace !== null && workspaces.includes(workspace);
  return {
    access: via === 'loopback' ? 'loopback' : 'key',
    signedIn: via === 'session',
    key: key === null ? null : { name: key.name },
    scopes,
    workspace: opens ? workspace : null,
    workspaces: isFleet ? workspaces : null,
    csrf,
    version: VERSION,
    hasData: opens ? await parts.hasData() : null,
    features: {
      sql: scopes.includes('sql'),
      writing: opens && scopes.includes('sql') && scopes.includes('metrics') && brands === null,
      operations: opens && scopes.includes('metrics') && brands === null,
      setup: opens && parts.hasSetup && isOwner(access),
    },
  };
}

// A key manages its own sessions; the owner of the folder manages all.
function mayManage({ key }: Access, { keyId }: StoredSession): boolean {
  return key === null || key.id === keyId;
}

function describeSession({ keyring }: SessionHandlerParts, session: StoredSession, access: Access): object {
  const { id, createdAt, usedAt, userAgent, keyId } = session;
  const key = keyId === null ? null : (keyring.byId(keyId)?.name ?? null);
  return { id, createdAt, usedAt, userAgent: shortAgent(userAgent), key, current: id === access.session };
}
