import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { errorTable } from '../../src/base/errors.ts';
import { openServer, publishBefore, type TestServer } from '../serve/http/support.ts';
import { launchBrowser, noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';

const published = publishBefore();

test('the reference and its files need no key, are compressed, and allow only files of the server', async () => {
  const server = await openServer(published().copy);
  for (const path of ['', '/errors', '/page.css', '/page.js', '/renderer.js']) {
    const answer = await fetch(`${server.baseUrl}/docs${path}`);
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
    expect((await fetch(`${server.baseUrl}/docs${path}`, { headers: { 'if-none-match': tag } })).status).toBe(304);
  }
  const slash = await fetch(`${server.baseUrl}/docs/`, { redirect: 'manual' });
  expect([slash.status, slash.headers.get('location')]).toEqual([308, '../docs']);
  expect((await fetch(`${server.baseUrl}/docs/`)).url).toBe(`${server.baseUrl}/docs`);
  expect((await fetch(`${server.baseUrl}/docs/other.js`)).status).toBe(401);
  expect((await server.get('/docs/other.js')).status).toBe(404);
});

test('every docUrl is the address of its code in the list of errors', async () => {
  const server = await openServer(published().copy);
  const refused = await server.get('/brands?colour=red');
  const { error } = (await refused.json()) as { error: { docUrl: string } };
  const url = new URL(error.docUrl, server.baseUrl);
  const page = await (await fetch(url)).text();
  const codes = Object.entries(errorTable).filter(([, kind]) => 'status' in kind);
  for (const [code] of codes) expect(page).toContain(`<tr id="${code}">`);
  expect(page).toContain(`id="${url.hash.slice(1)}"`);
  expect([...page.matchAll(/<tr id=/g)]).toHaveLength(codes.length);
});

describeWith(noBrowser)('the reference in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** Opens a page; `trouble` collects console messages, errors and requests to other servers. */
  async function open(server: TestServer, path: string): Promise<{ page: Page; trouble: string[]; asked: string[] }> {
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    const [trouble, asked]: [string[], string[]] = [[], []];
    page.on('console', (message) => trouble.push(message.text()));
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('request', (request) => {
      asked.push(new URL(request.url()).pathname);
      if (!request.url().startsWith(server.baseUrl)) trouble.push(request.url());
    });
    await page.addInitScript(
      `document.addEventListener('securitypolicyviolation', ({ blockedURI }) => console.error('blocked ' + blockedURI))`,
    );
    await page.goto(`${server.baseUrl}${path}`);
    return { page, trouble, asked };
  }

  test('shows every operation, without requests to other servers and without violations of the policy', async () => {
    const server = await openServer(published().copy);
    const { page, trouble, asked } = await open(server, '/docs');
    const document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as { paths: object };
    const entries = page.locator('[id^="link-get-"]');
    await entries.first().waitFor({ state: 'attached' });
    expect(await entries.count()).toBe(Object.keys(document.paths).length);
    expect(trouble).toEqual([]);
    expect(asked.sort()).toEqual(
      ['/docs', '/docs/page.css', '/docs/page.js', '/docs/renderer.js', '/openapi.json'].map((path) => `/v1${path}`),
    );
  });

  test('sends requests with the given key to the server of the page', async () => {
    const server = await openServer(published().copy);
    const { page, trouble } = await open(server, '/docs');
    const operation = page.locator('[id="link-get-/engines"]');
    await operation.waitFor({ state: 'attached' });
    await page.evaluate(
      `document.querySelector('openapi-explorer').setAuthenticationConfiguration('apiKey', { token: '${server.key}' })`,
    );
    await operation.dispatchEvent('click');
    const answered = page.waitForResponse(`${server.baseUrl}/engines`);
    await page.getByRole('button', { name: 'Execute' }).first().click();
    const answer = await answered;
    expect([answer.status(), await answer.request().headerValue('x-api-key')]).toEqual([200, server.key]);
    expect(trouble).toEqual([]);
  });

  test('has a list of errors that opens at a code', async () => {
    const { page, trouble } = await open(await openServer(published().copy), '/docs/errors#rate_limited');
    expect(await page.locator('tr:target th').textContent()).toBe('rate_limited');
    expect(trouble).toEqual([]);
  });
});
