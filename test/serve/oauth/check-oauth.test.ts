import { describe, expect, test } from 'vitest';
import { checkOAuth } from '../../../src/serve/auth/oauth/check-oauth.ts';
import { makeKey, RESOURCE, settingsOf, startIssuer } from './support.ts';

async function findings(given: Record<string, unknown>, isOffline = false) {
  const settings = settingsOf({ resource: RESOURCE, ...given });
  return checkOAuth({ settings, isOffline, workspaces: ['acme'] });
}

describe('the check of OAuth settings', () => {
  test('reports a valid issuer and the accepted audiences', async () => {
    const { issuer, requests } = await startIssuer('/realm');
    expect(await findings({ issuer, audiences: ['sightline'], grants: [{ workspace: 'acme' }] })).toEqual([
      { status: 'ok', message: `issuer ${issuer}: reachable; 1 of 1 keys are usable` },
      { status: 'ok', message: `tokens need one of these audiences (aud): ${RESOURCE}, sightline` },
    ]);
    expect(requests.length).toBe(2);
    await findings({ issuer }, true);
    expect(requests.length).toBe(2);
    expect(await checkOAuth({ settings: null, isOffline: false, workspaces: [] })).toEqual([]);
  });

  test('reports an issuer that is unreachable, has another name, or has no usable key', async () => {
    const server = await startIssuer();
    const { issuer } = server;
    const problemOf = async (given: Record<string, unknown> = {}) => (await findings({ issuer, ...given }))[0];
    expect(await problemOf({ issuer: 'http://127.0.0.1:9' })).toEqual({
      status: 'failure',
      message: 'issuer http://127.0.0.1:9: 127.0.0.1:9 cannot be reached (ECONNREFUSED)',
      advice: expect.stringContaining('SIGHTLINE_OAUTH_ISSUER'),
    });
    expect(await problemOf({ issuer: `${issuer}/` })).toMatchObject({
      status: 'failure',
      message: expect.stringContaining('another issuer'),
    });
    expect(await problemOf({ jwksUri: `${issuer}/none` })).toMatchObject({
      status: 'failure',
      message: expect.stringContaining('status 404'),
      advice: expect.stringContaining('oauth.jwksUri'),
    });
    expect(await problemOf({ algorithms: ['RS256', 'EdDSA'] })).toMatchObject({
      status: 'failure',
      message: expect.stringContaining('none of its 1 keys can sign with RS256, EdDSA'),
    });
    server.keys.push((await makeKey('second', 'RS256')).jwk);
    expect(await problemOf({ algorithms: ['RS256', 'EdDSA'] })).toMatchObject({ status: 'ok' });
  });

  test('warns of a resource that is not an MCP endpoint, and of a grant of an unknown workspace', async () => {
    const { issuer } = await startIssuer();
    const resource = 'https://data.example.com/';
    const found = await findings({ issuer, resource, grants: [{ workspace: 'acme' }, { workspace: 'beta' }] });
    expect(found.slice(1)).toEqual([
      {
        status: 'warning',
        message: expect.stringContaining(`oauth.resource is ${resource}, which does not end with /v1/mcp`),
        advice: 'Set it to the address that MCP clients connect to, such as https://data.example.com/v1/mcp.',
      },
      { status: 'warning', message: expect.stringContaining('beta'), advice: 'Correct the name in oauth.grants.' },
    ]);
  });
});
