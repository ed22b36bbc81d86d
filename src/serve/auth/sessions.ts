import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { DAY_MS } from '../../contract/time.ts';
import {
  changeSessionFile,
  readSessionFile,
  type SessionFile,
  type StoredSession,
  sessionFilePath,
} from '../../workspace/stored-sessions.ts';
import { createFileWatch } from './file-watch.ts';

/** Time after which a sign-in link expires, in milliseconds. */
export const LINK_MS = 600_000;
/** A session ends this long after its last use, and this long after its start. */
const IDLE_MS = 7 * DAY_MS;
export const SESSION_MS = 30 * DAY_MS;
/** Interval at which the last use of a session is stored, in milliseconds. */
const USED_MS = 300_000;
/** Maximum number of unused links; the oldest are dropped first. */
const LINKS_MAX = 20;
/** Maximum number of sessions of a key, and of the owner's, who signs in with links. A new one replaces the oldest of the same holder. */
const SESSIONS_MAX = 20;
const TOKEN_BYTES = 32;
const AGENT_CHARACTERS_MAX = 200;

/** A session that was opened, and the text of its cookie, which is not stored. */
export interface OpenedSession {
  readonly session: StoredSession;
  readonly text: string;
}

/** Browser sessions of a running server. Changes of the session file take effect immediately. */
export interface Sessions {
  /** Returns the session with this cookie; null if there is none or it has expired. Stores its use from time to time. */
  find(text: string): StoredSession | null;
  /** Opens a session with the token of a link, which becomes invalid. Returns null if the link is unknown, used or expired. */
  openWithLink(token: string, userAgent: string): Promise<OpenedSession | null>;
  openWithKey(keyId: string, userAgent: string): Promise<OpenedSession>;
  /** Returns the sessions that have not expired, oldest first. */
  list(): readonly StoredSession[];
  /** Ends a session. Returns false if there is none. */
  end(id: string): Promise<boolean>;
}

/**
 * Creates a sign-in link in a folder and returns its token. A server that uses the folder accepts it once, within 10 minutes.
 *
 * @throws SightlineError `folder_unwritable`
 */
export async function createLink(folder: string, nowMs: number): Promise<string> {
  const token = `gsl_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  const link = { hash: hashOf(token), expiresAt: new Date(nowMs + LINK_MS).toISOString() };
  return changeSessionFile(folder, (before) => {
    const { links, sessions } = withoutExpired(before, nowMs);
    return { after: { ...before, sessions, links: [...links, link].slice(-LINKS_MAX) }, result: token };
  });
}

/** Writes a page that leads to a sign-in link, which only the user can read, and returns its path. It is removed with the next sign-in. */
export async function writeLinkPage(folder: string, link: string): Promise<string> {
  const path = linkPagePath(folder);
  await rm(path, { force: true });
  const page = `<!doctype html><meta charset="utf-8"><title>sightline</title><meta http-equiv="refresh" content="0;url=${link}">\n`;
  await writeFile(path, page, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Opens the sessions in a folder. The session file may not exist yet. */
export function openSessions(folder: string, clock: Clock): Sessions {
  let sessions: ReadonlyMap<string, StoredSession> = new Map();
  const storing = new Set<string>();
  const refresh = createFileWatch(sessionFilePath(folder), () => {
    sessions = new Map();
    sessions = new Map(readSessionFile(folder)?.sessions.map((session) => [session.hash, session]));
  });
  const current = (): ReadonlyMap<string, StoredSession> => {
    try {
      refresh();
    } catch {
      // A damaged file has no sessions; the next sign-in replaces it.
    }
    return sessions;
  };
  const open = async (keyId: string | null, userAgent: string, token: string | null): Promise<OpenedSession | null> => {
    const nowMs = clock.now();
    const text = `gss_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const at = new Date(nowMs).toISOString();
    const session: StoredSession = {
      id: randomUUID(),
      hash: hashOf(text),
      createdAt: at,
      usedAt: at,
      userAgent: userAgent.slice(0, AGENT_CHARACTERS_MAX),
      keyId,
    };
    return changeSessionFile(folder, (before) => {
      const valid = withoutExpired(before, nowMs);
      const links = token === null ? valid.links : valid.links.filter(({ hash }) => hash !== hashOf(token));
      if (token !== null && links.length === valid.links.length) return { after: null, result: null };
      const own = valid.sessions.filter((each) => each.keyId === keyId);
      const replaced = own.slice(0, Math.max(0, own.length + 1 - SESSIONS_MAX));
      const kept = valid.sessions.filter((each) => !replaced.includes(each));
      const after = { ...before, links, sessions: [...kept, session] };
      return { after, result: { session, text } };
    });
  };
  const storeUse = ({ id }: StoredSession): void => {
    if (storing.has(id)) return;
    storing.add(id);
    const usedAt = new Date(clock.now()).toISOString();
    const used = (session: StoredSession): StoredSession => (session.id === id ? { ...session, usedAt } : session);
    changeSessionFile(folder, (before) => ({
      after: { ...before, sessions: before.sessions.map(used) },
      result: null,
    }))
      // Without it, the session ends earlier.
      .catch(() => undefined)
      .finally(() => storing.delete(id));
  };
  return {
    find: (text) => {
      const session = current().get(hashOf(text));
      if (session === undefined || isExpired(session, clock.now())) return null;
      if (clock.now() - Date.parse(session.usedAt) >= USED_MS) storeUse(session);
      return session;
    },
    openWithLink: async (token, userAgent) => {
      const opened = await open(null, userAgent, token);
      if (opened !== null) await rm(linkPagePath(folder), { force: true });
      return opened;
    },
    openWithKey: async (keyId, userAgent) => (await open(keyId, userAgent, null)) as OpenedSession,
    list: () => [...current().values()].filter((session) => !isExpired(session, clock.now())),
    end: (id) =>
      changeSessionFile(folder, (before) => {
        const left = before.sessions.filter((session) => session.id !== id);
        const isKnown = left.length < before.sessions.length;
        return { after: isKnown ? { ...before, sessions: left } : null, result: isKnown };
      }),
  };
}

function linkPagePath(folder: string): string {
  return join(folder, 'sign-in.html');
}

function withoutExpired({ links, sessions }: SessionFile, nowMs: number): Pick<SessionFile, 'links' | 'sessions'> {
  return {
    links: links.filter(({ expiresAt }) => Date.parse(expiresAt) > nowMs),
    sessions: sessions.filter((session) => !isExpired(session, nowMs)),
  };
}

function isExpired({ createdAt, usedAt }: StoredSession, nowMs: number): boolean {
  return nowMs - Date.parse(createdAt) >= SESSION_MS || nowMs - Date.parse(usedAt) >= IDLE_MS;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
