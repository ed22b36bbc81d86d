import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadOAuthSettings } from '../../src/base/config/config.ts';
import { temporaryFolder } from '../support/folders.ts';

const ISSUER = 'https://login.example.com/realms/acme';
const RESOURCE = 'https://data.example.com/v1/mcp';

async function loadFrom(oauth: unknown, environment: Record<string, string> = {}) {
  const folder = await temporaryFolder();
  if (oauth !== undefined) await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ oauth }));
  return loadOAuthSettings({ environment, folder });
}

async function refusalOf(oauth: unknown, environment: Record<string, string> = {}): Promise<string> {
  try {
    await loadFrom(oauth, environment);
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'config_invalid' });
    return (thrown as Error).message;
  }
  throw new Error('it was accepted');
}

describe('the oauth setting', () => {
  test('is off by default', async () => {
    expect(await loadFrom(undefined)).toBeNull();
    expect(await loadFrom({})).toBeNull();
  });

  test('needs an issuer and a resource, and has defaults for the rest', async () => {
    expect(await loadFrom({ issuer: ISSUER, resource: RESOURCE })).toMatchObject({
      issuer: ISSUER,
      audiences: [RESOURCE],
      jwksUri: null,
      scopes: ['sightline:read'],
      profile: 'rfc9068',
      clockSkewSeconds: 60,
      workspaceClaim: null,
      grants: [],
    });
    expect(await refusalOf({ resource: RESOURCE })).toMatch(/^oauth\.issuer is not set; allowed: the https URL/);
    expect(await refusalOf({ issuer: ISSUER })).toMatch(/^oauth\.resource is not set; allowed: the public https URL/);
  });

  test('has an issuer and a resource in the environment, which overrides the file', async () => {
    const environment = { SIGHTLINE_OAUTH_ISSUER: ISSUER, SIGHTLINE_OAUTH_RESOURCE: RESOURCE };
    const settings = await loadFrom(
      { issuer: 'https://old.example.com', resource: 'https://old.example.com' },
      environment,
    );
    expect(settings).toMatchObject({ issuer: ISSUER, resource: new URL(RESOURCE) });
    expect(await loadFrom(undefined, environment)).toMatchObject({ issuer: ISSUER });
    expect(await refusalOf(undefined, { ...environment, SIGHTLINE_OAUTH_ISSUER: 'login' })).toMatch(
      /^SIGHTLINE_OAUTH_ISSUER is "login"; allowed: /,
    );
  });

  test('accepts the resource of an origin with and without a slash', async () => {
    const settings = await loadFrom({ issuer: ISSUER, resource: 'https://data.example.com' });
    expect(settings?.audiences).toEqual(['https://data.example.com', 'https://data.example.com/']);
  });

  test.each([
    [{ issuer: 'http://login.example.com' }, 'oauth.issuer is "http://login.example.com"; allowed: the https URL'],
    [{ issuer: 'http://user:secret-word@login.example.com' }, 'oauth.issuer is "…@login.example.com"; allowed:'],
    [{ issuer: 'https://user:secret-word@login.example.com' }, 'oauth.issuer contains a user name or password'],
    [{ issuer: 'https://login.example.com/?a=1' }, 'oauth.issuer has a query or a fragment'],
    [
      { resource: 'http://data.example.com/v1/mcp' },
      'oauth.resource is "http://data.example.com/v1/mcp"; allowed: the public',
    ],
    [{ resource: 'https://data.example.com/v1/mcp#part' }, 'oauth.resource has a query or a fragment'],
    [{ resource: 'https://data.example.com/:x*' }, 'oauth.resource has other characters in its path'],
    [{ jwksUri: 'http://keys.example.com' }, 'oauth.jwksUri is "http://keys.example.com"; allowed: the https URL'],
    [{ algorithms: ['HS256'] }, 'oauth.algorithms.0 is "HS256"; allowed: a list of RS256'],
    [{ algorithms: ['none'] }, 'oauth.algorithms.0 is "none"; allowed: a list of RS256'],
    [{ scopes: [] }, 'oauth.scopes is []; allowed: a list of 1 to 20 scopes'],
    [{ scopes: ['a b'] }, 'oauth.scopes.0 is "a b"; allowed: a list of 1 to 20 scopes'],
    [{ clockSkewSeconds: 301 }, 'oauth.clockSkewSeconds is 301; allowed: a whole number of seconds from 0 to 300'],
    [{ profile: 'any' }, 'oauth.profile is "any"; allowed: rfc9068 or jwt'],
    [{ grants: [{ workspace: 'A' }] }, 'oauth.grants.0.workspace is "A"; allowed: lower-case letters'],
    [
      { grants: [{ workspace: 'a', claims: { org: [] } }] },
      'oauth.grants.0.claims is {"org":[]}; allowed: an object with',
    ],
    [{ grants: [{ workspace: 'a', brand: 'b' }] }, 'oauth.grants.0 has an unknown setting "brand"; allowed: workspace'],
    [{ isuer: ISSUER }, 'oauth has an unknown setting "isuer"; allowed: issuer'],
  ])('is rejected if it is %j', async (given, message) => {
    const text = await refusalOf({ issuer: ISSUER, resource: RESOURCE, ...given }, { SIGHTLINE_ALLOW_HTTP: '1' });
    expect(text).toContain(message);
    expect(text).not.toContain('secret-word');
  });
});
