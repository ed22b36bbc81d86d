import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { openOAuth } from '../../../src/serve/open-oauth.ts';
import { openLog } from '../../../src/serve/telemetry/server-log.ts';
import { openTokenServer, RESOURCE, settingsOf, startIssuer } from './support.ts';

describe('the rights of an access token', () => {
  it.each([
    ['all scopes', { scopes: ['sightline:read', 'acme:read'] }, { scope: 'acme:read other sightline:read' }, 200],
    ['a scope too few', { scopes: ['sightline:read', 'acme:read'] }, { scope: 'sightline:read' }, 403],
    ['no scopes', {}, { scope: undefined }, 403],
    ['a scope in other letters', {}, { scope: 'Sightline:Read' }, 403],
    ['scopes in a list', {}, { scope: undefined, scp: ['sightline:read'] }, 200],
    ['the claim of a grant', { grants: [{ workspace: 'acme', claims: { org: 7 } }] }, { org: 7 }, 200],
    ['the claim as another type', { grants: [{ workspace: 'acme', claims: { org: 7 } }] }, { org: '7' }, 403],
    [
      'the claim in a list',
      { grants: [{ workspace: 'acme', claims: { groups: 'staff' } }] },
      { groups: ['x', 'staff'] },
      200,
    ],
    ['an inherited property as a claim', { grants: [{ workspace: 'acme', claims: { constructor: 'x' } }] }, {}, 403],
    ['one claim of two', { grants: [{ workspace: 'acme', claims: { org: 7, role: 'a' } }] }, { org: 7 }, 403],
    [
      'one of two grants',
      {
        grants: [
          { workspace: 'acme', scopes: ['a'] },
          { workspace: 'acme', claims: { org: 7 } },
        ],
      },
      { org: 7 },
      200,
    ],
    ['the grant of another workspace', { grants: [{ workspace: 'other', claims: { org: 7 } }] }, { org: 7 }, 403],
    ['the name of the workspace', { workspaceClaim: 'tenant' }, { tenant: 'acme' }, 200],
    ['the names of workspaces', { workspaceClaim: 'tenant' }, { tenant: ['other', 'acme'] }, 200],
    ['the name of another workspace', { workspaceClaim: 'tenant' }, { tenant: 'acme2' }, 403],
    ['no name', { workspaceClaim: 'tenant' }, {}, 403],
    ['a name that is no text', { workspaceClaim: 'tenant' }, { tenant: { acme: true } }, 403],
  ])('with %s are those of a key, or none', async (_title, given, claims, status) => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer, ...given });
    expect(await server.ask(await issuer.token(claims))).toMatchObject({ status });
  });

  it('are described if a scope is missing, so that clients can ask for it', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer, scopes: ['a', 'b'] });
    const answer = await server.ask(await issuer.token({ scope: 'a' }));
    expect(answer).toMatchObject({ status: 403, code: 'forbidden', message: 'The access token lacks the scope b.' });
    expect(answer.challenge).toMatch(
      /^Bearer error="insufficient_scope", error_description="The access token lacks the scope b\.", scope="a b", resource_metadata="/,
    );
  });

  it('are also given by audiences of the settings', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer, audiences: ['api://sightline'] });
    for (const aud of ['api://sightline', RESOURCE, ['x', RESOURCE]]) {
      expect(await server.ask(await issuer.token({ aud }))).toMatchObject({ status: 200 });
    }
    expect(await server.ask(await issuer.token({ aud: 'api://sightline/' }))).toMatchObject({ status: 401 });
  });

  it('are those of the profile jwt for issuers with other tokens than RFC 9068, but never of ID tokens', async () => {
    const issuer = await startIssuer();
    const server = await openTokenServer({ issuer: issuer.issuer, profile: 'jwt' });
    const claims = { client_id: undefined, jti: undefined, iat: undefined };
    for (const typ of [undefined, 'JWT', 'at+jwt']) {
      expect(await server.ask(await issuer.token(claims, { typ }))).toMatchObject({ status: 200 });
    }
    const message = 'The access token is another kind of token, such as an ID token.';
    for (const [more, typ] of [
      [{ at_hash: 'x' }, 'JWT'],
      [{ events: {} }, 'JWT'],
      [{}, 'logout+jwt'],
      [{}, 'dpop+jwt'],
    ] as const) {
      expect(await server.ask(await issuer.token(more, { typ }))).toMatchObject({ status: 401, message });
    }
  });

  it('must be assigned to workspaces if one address serves several', async () => {
    const parts = { clock: systemClock, log: openLog(() => undefined, 'info', systemClock), isWorkspace: () => true };
    const given = { issuer: 'https://login.example.com', resource: RESOURCE };
    await expect(openOAuth(settingsOf(given), { ...parts, standard: null })).rejects.toMatchObject({
      code: 'config_invalid',
      message:
        'oauth assigns no workspace to a token; allowed with --role api: oauth.workspaceClaim, oauth.grants or both',
    });
    expect(await openOAuth(settingsOf({ ...given, workspaceClaim: 'w' }), { ...parts, standard: null })).not.toBeNull();
    expect(await openOAuth(settingsOf(given), { ...parts, standard: 'acme' })).not.toBeNull();
    expect(await openOAuth(null, { ...parts, standard: null })).toBeNull();
  });
});
