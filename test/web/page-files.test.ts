import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { APP_PATHS } from '../../src/serve/http/page-paths.ts';
import { readRaw, requestText, sendRaw } from '../serve/http/support.ts';
import { temporaryFolder } from '../support/folders.ts';
import { serveStatus, worldBefore } from './support.ts';

const workspace = worldBefore('tiny');
const ID = '3f2b1c9e-0000-4000-8000-000000000001';

/** Writes data pages as the build does, and returns their folder. */
async function buildPages(): Promise<URL> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'assets'));
  const html =
    '<!doctype html><html><head><meta name="sightline-base" content=""><link rel="stylesheet" href="./assets/app-1a2b.css">';
  await writeFile(
    join(folder, 'index.html'),
    `${html}<script type="module" src="/assets/app-3c4d.js"></script></head></html>`,
  );
  await writeFile(join(folder, 'assets/app-3c4d.js'), `console.log(${JSON.stringify('x'.repeat(4_000))})`);
  await writeFile(join(folder, 'assets/app-1a2b.css'), 'body{margin:0}');
  await writeFile(join(folder, 'assets/notes.ts'), 'a source');
  await writeFile(join(folder, 'secret.js'), 'outside of assets');
  return pathToFileURL(`${folder}/`);
}

describe('the document of the data pages', () => {
  it('is the same at every path, needs no key, has a strict policy, and is asked for again on each use', async () => {
    const server = await serveStatus(workspace(), { app: await buildPages() });
    const bodies = new Set<string>();
    for (const path of APP_PATHS) {
      const response = await server.ask(path.replace('{id}', ID), {});
      expect(response.status, path).toBe(200);
      bodies.add(await response.text());
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      const policy = response.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
      expect(policy).not.toContain('unsafe');
      const again = await server.ask(path.replace('{id}', ID), { 'if-none-match': response.headers.get('etag') ?? '' });
      expect(again.status).toBe(304);
    }
    expect([...bodies]).toEqual([expect.stringContaining('<meta name="sightline-base" content="">')]);
    // Paths may have several segments, so the files are addressed from the root.
    expect([...bodies][0]).toMatch(/href="\/assets\/app-1a2b\.css".*src="\/assets\/app-3c4d\.js"/);
  });

  it('answers HEAD, rejects other methods, unknown paths and requests of other sites', async () => {
    const server = await serveStatus(workspace(), { app: await buildPages() });
    const head = await fetch(`${server.origin}/prompts`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await fetch(`${server.origin}/prompts`, { method: 'POST' })).status).toBe(405);
    expect((await server.ask('/prompts/a/b')).status).toBe(404);
    expect((await server.ask('/unknown')).status).toBe(404);
    const send = async (path: string, headers: Record<string, string>) =>
      readRaw(await sendRaw(Number(new URL(server.origin).port), requestText('GET', path, headers)));
    const linked = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    expect((await send('/prompts', linked)).status).toBe(200);
    expect((await send('/prompts', { ...linked, 'Sec-Fetch-Mode': 'no-cors' })).status).toBe(403);
    expect((await send('/assets/app-3c4d.js', { ...linked, 'Sec-Fetch-Mode': 'no-cors' })).status).toBe(403);
  });

  it('is sent to browsers at addresses without a page, and JSON to programs', async () => {
    const server = await serveStatus(workspace(), { app: await buildPages() });
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    for (const path of ['/nonsense', '/prompts/a/b', '/reports/none/none.html', '/data/nonsense']) {
      const shown = await server.ask(path, { accept });
      expect(shown.status, path).toBeGreaterThanOrEqual(401);
      expect(shown.status, path).toBeLessThanOrEqual(404);
      expect(shown.headers.get('content-type'), path).toBe('text/html; charset=utf-8');
      expect(shown.headers.get('content-security-policy'), path).toContain("default-src 'none'");
      expect(await shown.text(), path).toContain('sightline-base');
      for (const other of ['application/json', '*/*']) {
        const told = await server.ask(path, { accept: other });
        expect(told.headers.get('content-type'), `${path} ${other}`).toMatch(/^application\/json/);
      }
    }
    expect((await server.ask('/nonsense', { accept })).status).toBe(404);
    const api = await fetch(`${server.baseUrl}/nonsense`, { headers: { accept } });
    expect(api.headers.get('content-type')).toMatch(/^application\/json/);
  });

  it('is missing with a clear error if the pages were not built', async () => {
    const missing = pathToFileURL(`${await temporaryFolder()}/none/`);
    const server = await serveStatus(workspace(), { app: missing });
    for (const path of ['/', '/assets/app.js']) {
      const response = await server.ask(path);
      expect(response.status).toBe(404);
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toBe('The data pages are not built: run `npm run build` in the folder of sightline.');
    }
    expect((await fetch(`${server.baseUrl}/openapi.json`)).status).toBe(200);
  });
});

describe('the files of the data pages', () => {
  it('are compressed and cached for a year, because their names contain their hashes', async () => {
    const server = await serveStatus(workspace(), { app: await buildPages() });
    const plain = await server.ask('/assets/app-3c4d.js', { 'accept-encoding': 'identity' });
    expect(Object.fromEntries(plain.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const request = requestText('GET', '/assets/app-3c4d.js', { 'Accept-Encoding': 'br' });
    const packed = readRaw(await sendRaw(Number(new URL(server.origin).port), request));
    expect(packed.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(Number(packed.headers['content-length'])).toBeLessThan(200);
    expect((await server.ask('/assets/app-1a2b.css')).headers.get('content-type')).toBe('text/css; charset=utf-8');
  });

  it('are only those of the folder', async () => {
    const server = await serveStatus(workspace(), { app: await buildPages() });
    for (const path of [
      '/assets/notes.ts',
      '/assets/none.js',
      '/assets/',
      '/assets/..%2fsecret.js',
      '/assets/%2e%2e%2fsecret.js',
      '/assets/..%5csecret.js',
      '/assets/../secret.js',
      '/assets/sub/app.js',
      '/assets/app-3c4d.js%00',
    ]) {
      const { status } = readRaw(await sendRaw(Number(new URL(server.origin).port), requestText('GET', path)));
      expect(status, path).toBe(404);
    }
  });
});

/** The beginning of a report. */
const DESCRIBED = '<!doctype html><meta name="description" content="It is 5 % &amp; &quot;more&quot;."/>';

describe('the reports', () => {
  async function withReports() {
    const { config, key } = workspace();
    const folder = await temporaryFolder();
    const own = { ...config, folder };
    const name = `acme-${ID}`;
    await mkdir(join(folder, 'reports', name), { recursive: true });
    await writeFile(join(folder, 'reports', `${name}.html`), `${DESCRIBED}<p>${'A report. '.repeat(300)}</p>`);
    await writeFile(join(folder, 'reports', name, 'visibility.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    await writeFile(join(folder, 'reports', `${name}.html.77.new`), 'unfinished');
    await writeFile(join(folder, 'reports', 'notes.txt'), 'private');
    await writeFile(join(folder, 'keys-of-others.html'), 'outside');
    await symlink(join(folder, 'keys-of-others.html'), join(folder, 'reports', 'linked.html'));
    await symlink(folder, join(folder, 'reports', 'linked'));
    const server = await serveStatus({ config: own, key }, { pages: 'loopback' });
    return { server, name };
  }

  it('are listed with their first sentence and their charts', async () => {
    const { server, name } = await withReports();
    const listed = await server.ask('/data/reports', {});
    expect(await listed.json()).toEqual({
      reports: [
        {
          name,
          sentence: 'It is 5 % & "more".',
          brandId: ID,
          writtenAt: expect.stringMatching(/^\d{4}-.*Z$/),
          bytes: expect.any(Number),
          page: `/reports/${name}.html`,
          charts: [`/reports/${name}/visibility.svg`],
        },
      ],
    });
  });

  it('have a policy without scripts, and are sent again only if they changed', async () => {
    const { server, name } = await withReports();
    const page = await server.ask(`/reports/${name}.html`, {});
    expect(await page.text()).toContain('A report.');
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const again = await server.ask(`/reports/${name}.html`, { 'if-none-match': page.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    const chart = await server.ask(`/reports/${name}/visibility.svg`, {});
    expect(chart.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
  });

  it('need a key, and are the only files that are served', async () => {
    const { server, name } = await withReports();
    const send = async (path: string, headers: Record<string, string> = {}) =>
      readRaw(await sendRaw(Number(new URL(server.origin).port), requestText('GET', path, headers))).status;
    expect(await send(`/reports/${name}.html`)).toBe(200);
    for (const path of [`/reports/${name}.html`, '/data/reports']) {
      expect(await send(path, { Via: '1.1 proxy' }), path).toBe(401);
      expect(await send(path, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }), path).toBe(403);
    }
    for (const path of [
      '/reports/notes.txt',
      `/reports/${name}.html.77.new`,
      '/reports/linked.html',
      '/reports/linked/keys-of-others.html',
      '/reports/..%2fkeys-of-others.html',
      '/reports/%2e%2e/keys-of-others.html',
      '/reports/../keys-of-others.html',
      `/reports/${name}/..%2f..%2fkeys-of-others.html`,
      `/reports/${name}`,
      '/reports/.html',
    ]) {
      expect(await send(path), path).toBe(404);
    }
  });
});
