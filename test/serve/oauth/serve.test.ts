import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createKey } from '../../../src/serve/auth/keys.ts';
import { expectRefusal, runCli } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { openFleetServer, workspacesIn } from '../fleet-server.ts';
import { startCommand, startedServer } from '../running-command.ts';
import { RESOURCE, readAnswer, settingsOf, startIssuer } from './support.ts';

const NAMES = ['north', 'south'];

/** Serves two workspaces without data at one address. */
async function serveBoth(oauth: Record<string, unknown>) {
  const folder = await temporaryFolder();
  const configs = await workspacesIn(folder, NAMES);
  const { text: key } = await createKey(join(folder, 'south'), 'test', null, Date.now());
  const lines: string[] = [];
  const server = await openFleetServer(
    {
      openMax: 2,
      queryTimeoutMs: 5_000,
      fleetFolder: folder,
      pages: 'off',
      workspaces: () => configs,
      oauth: settingsOf({ resource: RESOURCE, ...oauth }),
    },
    { lines },
  );
  const ask = async (token: string) =>
    readAnswer(await fetch(`${server.baseUrl}/brands`, { headers: { authorization: `Bearer ${token}` } }));
  return { ...server, key, lines, ask };
}

it('at an address of several workspaces, a valid token opens the workspace that its claim names, and keys still open theirs', async () => {
  const issuer = await startIssuer();
  const server = await serveBoth({ issuer: issuer.issuer, workspaceClaim: 'workspace' });
  // Without data the code is `no_data` for every request with access.
  const codeOf = async (claims: Record<string, unknown>) => (await server.ask(await issuer.token(claims))).code;
  expect(await codeOf({ workspace: 'north' })).toBe('no_data');
  expect(server.open()).toEqual(['north']);
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/v1/mcp', server.baseUrl));
  expect(await metadata.json()).toMatchObject({ resource: RESOURCE });
  expect(await codeOf({ workspace: 'south' })).toBe('no_data');
  expect(server.open()).toEqual(['north', 'south']);
  expect((await server.ask(server.key)).code).toBe('no_data');
  expect(await codeOf({ workspace: 'west' })).toBe('forbidden');
  expect(await codeOf({})).toBe('forbidden');
  const both = await server.ask(await issuer.token({ workspace: NAMES }));
  expect(both).toMatchObject({
    status: 403,
    message: 'The key opens 2 workspaces; name one with /w/WORKSPACE before the path, or with X-Sightline-Workspace.',
  });
  await server.close();
  const served = server.lines
    .join('')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { workspace?: string }).workspace]));
  expect(served.filter((name) => name !== undefined)).toEqual(['north', 'south', 'south']);
});

describe('sightline serve', () => {
  it('accepts tokens of the issuer in the configuration file', async () => {
    const issuer = await startIssuer();
    const folder = await temporaryFolder();
    const oauth = { issuer: issuer.issuer, resource: 'https://old.example.com/v1/mcp' };
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ oauth }));
    const env = { SIGHTLINE_OAUTH_RESOURCE: RESOURCE };
    const args = ['serve', '--json', '--port', '0', '--no-jobs'];
    const running = startCommand(args, { cwd: folder, env, clock: systemClock });
    const { baseUrl } = await startedServer(running);
    const token = await issuer.token();
    const answer = await fetch(`${baseUrl}/brands`, { headers: { authorization: `Bearer ${token}` } });
    expect(await readAnswer(answer)).toMatchObject({ status: 503, code: 'no_data' });
    const { code, stderr } = await running.stop();
    expect(code).toBe(0);
    for (const part of token.split('.')) expect(stderr).not.toContain(part);
  });

  it('does not start with several workspaces if no setting assigns tokens to them', async () => {
    const folder = await temporaryFolder();
    const env = { SIGHTLINE_OAUTH_ISSUER: 'https://login.example.com', SIGHTLINE_OAUTH_RESOURCE: RESOURCE };
    const ended = await runCli(['serve', '--role', 'api', '--port', '0'], { cwd: folder, env });
    expectRefusal(ended, 'config_invalid', false);
    expect(ended.stderr).toContain('oauth assigns no workspace to a token');
  });
});
