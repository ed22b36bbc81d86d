import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createKey, type KeyRights, revokeKey } from '../../src/serve/auth/keys.ts';
import { createLink } from '../../src/serve/auth/sessions.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openFleetServer, workspacesIn } from './fleet-server.ts';

const NAMES = ['acme', 'beta', 'gamma'] as const;

/** A server of three workspaces without data: 503 is the status of a request that may read one. */
async function openFleet() {
  const folder = await temporaryFolder();
  let configs = await workspacesIn(folder, NAMES);
  const lines: string[] = [];
  // A new key is found within 250 ms, so a second passes with each look at the clock.
  let monotonicMs = 0;
  const clock = { ...systemClock, monotonic: () => (monotonicMs += 1_000) };
  const server = await openFleetServer(
    { openMax: 5, queryTimeoutMs: 5_000, fleetFolder: folder, workspaces: () => configs },
    { lines, clock },
  );
  const keyOf = async (name: string, workspaces: KeyRights['workspaces'], more: KeyRights = {}) =>
    (await createKey(folder, name, null, Date.now(), { ...more, ...(workspaces === undefined ? {} : { workspaces }) }))
      .text;
  const ask = (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(new URL(path, server.baseUrl), { ...init, headers });
  const statusOf = async (path: string, key: string, workspace?: string): Promise<number> =>
    (await ask(path, { 'x-api-key': key, ...(workspace === undefined ? {} : { 'x-sightline-workspace': workspace }) }))
      .status;
  const add = async (name: string): Promise<void> => {
    configs = new Map([...configs, ...(await workspacesIn(folder, [name]))]);
  };
  return { server, folder, add, lines, keyOf, ask, statusOf };
}

describe('a key of several workspaces', () => {
  it('opens its workspaces by a prefix or a header, and no others', async () => {
    const { keyOf, statusOf, ask } = await openFleet();
    const key = await keyOf('two', ['acme', 'beta', 'deleted']);
    for (const name of ['acme', 'beta']) {
      expect(await statusOf(`/w/${name}/v1/brands`, key), name).toBe(503);
      expect(await statusOf('/v1/brands', key, name), name).toBe(503);
    }
    for (const name of ['gamma', 'deleted', 'nobody', 'ACME', 'acme%2F', 'acme%00']) {
      expect(await statusOf(`/w/${name}/v1/brands`, key), name).toBe(404);
      expect(await statusOf('/v1/brands', key, name), name).toBe(404);
    }
    const unnamed = await ask('/v1/brands', { 'x-api-key': key });
    expect(unnamed.status).toBe(403);
    expect(await unnamed.json()).toMatchObject({
      error: { message: expect.stringContaining('opens 2 workspaces'), allowed: 'acme, beta' },
    });
    expect(await statusOf('/w/acme/v1/brands', 'gsk_wrong')).toBe(401);
  });

  it('opens all workspaces, including new ones, until it is revoked', async () => {
    const { keyOf, statusOf, add, folder } = await openFleet();
    const key = await keyOf('all', 'all');
    for (const name of NAMES) expect(await statusOf(`/w/${name}/v1/brands`, key), name).toBe(503);
    await add('delta');
    expect(await statusOf('/w/delta/v1/brands', key)).toBe(503);
    await revokeKey(folder, 'all');
    for (const name of NAMES) expect(await statusOf(`/w/${name}/v1/brands`, key), name).toBe(401);
  });

  it('selects its workspace if it opens one, like a key in the folder of a workspace', async () => {
    const { keyOf, statusOf, folder } = await openFleet();
    const one = await keyOf('one', ['beta']);
    const { text: own } = await createKey(join(folder, 'beta'), 'own', null, Date.now());
    for (const key of [one, own]) {
      expect(await statusOf('/v1/brands', key)).toBe(503);
      expect(await statusOf('/w/beta/v1/brands', key)).toBe(503);
      expect(await statusOf('/w/acme/v1/brands', key)).toBe(404);
      expect(await statusOf('/v1/brands', key, 'acme')).toBe(404);
    }
  });

  it('has the same scopes in each workspace, and needs to name its workspaces', async () => {
    const { keyOf, statusOf } = await openFleet();
    const key = await keyOf('limited', 'all', { scopes: ['metrics'] });
    for (const name of NAMES) expect(await statusOf(`/w/${name}/v1/brands`, key), name).toBe(403);
    // Such as a key of one workspace that was copied to the data folder.
    expect(await statusOf('/w/acme/v1/brands', await keyOf('copied', undefined))).toBe(401);
  });
});

describe('a session of a server of several workspaces', () => {
  const signIn = async ({ ask }: Awaited<ReturnType<typeof openFleet>>, secret: object, path = '/data/session') => {
    const response = await ask(
      path,
      { 'content-type': 'application/json' },
      { method: 'POST', body: JSON.stringify(secret) },
    );
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
    return { status: response.status, me: (await response.json()) as Record<string, unknown>, cookie };
  };

  it('opens the workspaces of its key', async () => {
    const fleet = await openFleet();
    const key = await fleet.keyOf('two', ['acme', 'beta']);
    const { status, me, cookie } = await signIn(fleet, { key }, '/w/acme/data/session');
    expect(status).toBe(200);
    expect(me).toMatchObject({ signedIn: true, workspaces: ['acme', 'beta'] });
    const of = async (path: string) => {
      const response = await fleet.ask(path, { cookie });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    expect((await of('/data/me')).body).toMatchObject({ workspace: null, workspaces: ['acme', 'beta'] });
    expect((await of('/w/beta/data/me')).body).toMatchObject({ workspace: 'beta', workspaces: ['acme', 'beta'] });
    expect((await of('/w/gamma/data/me')).body).toMatchObject({ workspace: null });
    expect((await of('/w/beta/snapshots')).status).toBe(200);
    expect((await of('/w/gamma/snapshots')).status).toBe(404);
    expect((await of('/w/acme/v1/brands')).status).toBe(401);
    await revokeKey(fleet.folder, 'two');
    expect((await of('/data/me')).body).toMatchObject({ access: 'none', workspaces: null });
    expect((await of('/w/beta/snapshots')).status).toBe(401);
  });

  it('of a link in the data folder opens all of them', async () => {
    const fleet = await openFleet();
    const token = await createLink(fleet.folder, Date.now());
    const { me, cookie } = await signIn(fleet, { token });
    expect(me).toMatchObject({ signedIn: true, key: null, workspaces: NAMES });
    for (const name of NAMES) expect((await fleet.ask(`/w/${name}/snapshots`, { cookie })).status, name).toBe(200);
    const foreign = await createLink(join(fleet.folder, 'acme'), Date.now());
    expect((await signIn(fleet, { token: foreign })).status).toBe(401);
    expect(fleet.lines.join('')).not.toMatch(/gs[kls]_[A-Za-z0-9]/);
  });
});
