import { describe, expect, it } from 'vitest';
import { sharedBefore } from '../served-world.ts';
import { openTokenServer, RESOURCE, startIssuer } from './support.ts';

const issuer = sharedBefore((closeLater) => startIssuer('', closeLater));
const open = (given: Record<string, unknown>) => openTokenServer(given, { issuer: issuer() });

const ORG = { workspace: 'acme', claims: { org: 7 } };
const GROUPS = { workspace: 'acme', claims: { groups: 'staff' } };
const ROLE = { workspace: 'acme', claims: { org: 7, role: 'a' } };
const INHERITED = { workspace: 'acme', claims: { constructor: 'x' } };
const TENANT = { workspaceClaim: 'tenant' };
const SCOPES = { scopes: ['sightline:read', 'acme:read'] };

describe('the rights of an access token', () => {
  it.each([
    ['all scopes', SCOPES, { scope: 'acme:read other sightline:read' }, 200],
    ['a scope too few', SCOPES, { scope: 'sightline:read' }, 403],
    ['no scopes', {}, { scope: undefined }, 403],
    ['a scope in other letters', {}, { scope: 'Sightline:Read' }, 403],
    ['scopes in a list', {}, { scope: undefined, scp: ['sightline:read'] }, 200],
    ['the claim of a grant', { grants: [ORG] }, { org: 7 }, 200],
    ['the claim as another type', { grants: [ORG] }, { org: '7' }, 403],
    ['the claim in a list', { grants: [GROUPS] }, { groups: ['x', 'staff'] }, 200],
    ['an inherited property as a claim', { grants: [INHERITED] }, {}, 403],
    ['one claim of two', { grants: [ROLE] }, { org: 7 }, 403],
    ['one of two grants', { grants: [{ workspace: 'acme', scopes: ['a'] }, ORG] }, { org: 7 }, 200],
    ['the grant of another workspace', { grants: [{ ...ORG, workspace: 'other' }] }, { org: 7 }, 403],
    ['the name of the workspace', TENANT, { tenant: 'acme' }, 200],
    ['the names of workspaces', TENANT, { tenant: ['other', 'acme'] }, 200],
    ['the name of another workspace', TENANT, { tenant: 'acme2' }, 403],
    ['no name', TENANT, {}, 403],
    ['a name that is no text', TENANT, { tenant: { acme: true } }, 403],
  ])('with %s are those of a key, or none', async (_title, given, claims, status) => {
    expect(await (await open(given)).askWith(claims)).toMatchObject({ status });
  });

  it('are described if a scope is missing, so that clients can ask for it', async () => {
    const answer = await (await open({ scopes: ['a', 'b'] })).askWith({ scope: 'a' });
    expect(answer).toMatchObject({ status: 403, code: 'forbidden', message: 'The access token lacks the scope b.' });
    expect(answer.challenge).toMatch(
      /^Bearer error="insufficient_scope", error_description="The access token lacks the scope b\.", scope="a b", resource_metadata="/,
    );
  });

  it('are also given by audiences of the settings', async () => {
    const { askWith } = await open({ audiences: ['api://sightline'] });
    for (const aud of ['api://sightline', RESOURCE, ['x', RESOURCE]])
      expect(await askWith({ aud })).toMatchObject({ status: 200 });
    expect(await askWith({ aud: 'api://sightline/' })).toMatchObject({ status: 401 });
  });

  it('are those of the profile jwt for issuers with other tokens than RFC 9068, but never of ID tokens', async () => {
    const { askWith } = await open({ profile: 'jwt' });
    const claims = { client_id: undefined, jti: undefined, iat: undefined };
    for (const typ of [undefined, 'JWT', 'at+jwt']) {
      expect(await askWith(claims, { typ })).toMatchObject({ status: 200 });
    }
    const message = 'The access token is another kind of token, such as an ID token.';
    for (const [more, typ] of [
      [{ at_hash: 'x' }, 'JWT'],
      [{ events: {} }, 'JWT'],
      [{}, 'logout+jwt'],
      [{}, 'dpop+jwt'],
    ] as const) {
      expect(await askWith(more, { typ })).toMatchObject({ status: 401, message });
    }
  });
});
