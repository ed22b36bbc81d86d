import { expect, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { openPage } from './open-page.ts';
import { serverBefore, worldBefore } from './support.ts';

const workspace = worldBefore('tiny');
const server = serverBefore(workspace);

test('the reference and its files need no key, are compressed, and allow only files of the server', async () => {
  const { baseUrl, ask } = server();
  for (const path of ['', '/errors', '/page.css', '/page.js', '/renderer.js']) {
    const answer = await fetch(`${baseUrl}/docs${path}`);
    const text = await answer.text();
    const isLong = text.length >= 1_024;
    expect([path, answer.status]).toEqual([path, 200]);
    expect(answer.headers.has('content-encoding')).toBe(isLong);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; ");
    expect(policy).not.toMatch(/https?:|unsafe-eval|script-src[^;]*unsafe/);
    for (const [, url = ''] of text.matchAll(/(?:src|href)="([^"]*)"/g)) {
      if (!path.endsWith('.js')) expect(url).not.toMatch(/^(https?:)?\/\//);
    }
    const tag = answer.headers.get('etag') ?? '';
    expect((await fetch(`${baseUrl}/docs${path}`, { headers: { 'if-none-match': tag } })).status).toBe(304);
  }
  const slash = await fetch(`${baseUrl}/docs/`, { redirect: 'manual' });
  expect([slash.status, slash.headers.get('location')]).toEqual([308, '../docs']);
  expect((await fetch(`${baseUrl}/docs/`)).url).toBe(`${baseUrl}/docs`);
  expect((await fetch(`${baseUrl}/docs/other.js`)).status).toBe(401);
  expect((await ask('/v1/docs/other.js')).status).toBe(404);
});

test('every docUrl is the address of its code in the list of errors', async () => {
  const { baseUrl, ask } = server();
  const refused = await ask('/v1/brands?colour=red');
  const { error } = (await refused.json()) as { error: { docUrl: string } };
  const url = new URL(error.docUrl, baseUrl);
  const page = await (await fetch(url)).text();
  const codes = Object.entries(errorTable).filter(([, kind]) => 'status' in kind);
  for (const [code] of codes) expect(page).toContain(`<tr id="${code}">`);
  expect(page).toContain(`id="${url.hash.slice(1)}"`);
  expect([...page.matchAll(/<tr id=/g)]).toHaveLength(codes.length);
});

describeWith(noBrowser)('the reference in a browser', () => {
  const open = (path: string) => openPage(`${server().baseUrl}${path}`);

  // Chromium reports violations of the policy on the console.
  test('shows every operation, with the files of the server only', async () => {
    const page = await open('/docs');
    const document = await server().json<{ paths: object }>('/v1/openapi.json');
    const entries = page.locator('[id^="link-get-"]');
    await entries.first().waitFor({ state: 'attached' });
    expect(await entries.count()).toBe(Object.keys(document.paths).length);
    const asked = (await page.evaluate(
      `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
    )) as string[];
    expect(asked.sort()).toEqual(['/v1/docs/page.css', '/v1/docs/page.js', '/v1/docs/renderer.js', '/v1/openapi.json']);
  });

  test('sends requests with the given key to the server of the page', async () => {
    const { key } = workspace();
    const page = await open('/docs');
    const operation = page.locator('[id="link-get-/engines"]');
    await operation.waitFor({ state: 'attached' });
    await page.evaluate(
      `document.querySelector('openapi-explorer').setAuthenticationConfiguration('apiKey', { token: '${key}' })`,
    );
    await operation.dispatchEvent('click');
    const answered = page.waitForResponse(`${server().baseUrl}/engines`);
    await page.getByRole('button', { name: 'Execute' }).first().click();
    const answer = await answered;
    expect([answer.status(), await answer.request().headerValue('x-api-key')]).toEqual([200, key]);
  });

  test('has a list of errors that opens at a code', async () => {
    const page = await open('/docs/errors#rate_limited');
    expect(await page.locator('tr:target th').textContent()).toBe('rate_limited');
  });
});
