import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import { startCommand, startedServer } from '../serve/running-command.ts';
import { noBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { expectUsable, openPage } from './open-page.ts';

/** Serves an empty folder without any settings. */
async function serveEmpty(...flags: string[]) {
  const folder = await temporaryFolder();
  const args = ['serve', '--json', '--port', '0', '--no-jobs', ...flags];
  const running = startCommand(args, { cwd: folder, env: NO_PROBES, clock: systemClock });
  const { signInUrl, metricsUrl } = await startedServer(running);
  if (signInUrl === null) throw new Error('there is no sign-in link');
  return { signInUrl, metricsUrl, origin: new URL(signInUrl).origin, folder };
}

async function createKeyIn(folder: string): Promise<string> {
  return (await createKey(join(folder, 'data/default'), 'reader', null, Date.now())).text;
}

test('the setup over HTTP is for the owner of the folder only, and needs the CSRF token', async () => {
  const { origin, signInUrl, folder } = await serveEmpty();
  const key = await createKeyIn(folder);
  const json = { 'content-type': 'application/json' };
  const statusOf = async (path: string, headers: Record<string, string>, body?: string): Promise<number> => {
    const method = body === undefined ? 'GET' : 'POST';
    return (await fetch(`${origin}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })).status;
  };
  expect(await statusOf('/data/setup', {})).toBe(401);
  for (const [path, body] of [['/data/setup'], ['/data/setup/test', '{}'], ['/data/setup/start', '{}']] as const) {
    expect(await statusOf(path, { ...json, authorization: `Bearer ${key}` }, body), path).toBe(403);
  }
  const open = async (secret: object) => {
    const response = await fetch(`${origin}/data/session`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(secret),
    });
    const { csrf, features } = (await response.json()) as { csrf: string; features: { setup: boolean } };
    return { cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '', csrf, features };
  };
  const byKey = await open({ key });
  expect(byKey.features.setup).toBe(false);
  const asKey = { ...json, cookie: byKey.cookie, 'x-sightline-csrf': byKey.csrf };
  expect(await statusOf('/data/setup', asKey)).toBe(403);
  expect(await statusOf('/data/setup/start', asKey, '{}')).toBe(403);
  const owner = await open({ token: new URL(signInUrl).hash.slice(1) });
  expect(owner.features.setup).toBe(true);
  expect(await statusOf('/data/setup', { cookie: owner.cookie })).toBe(200);
  expect(await statusOf('/data/setup/start', { ...json, cookie: owner.cookie }, '{}')).toBe(403);
  const asOwner = { ...json, cookie: owner.cookie, 'x-sightline-csrf': owner.csrf };
  for (const body of ['', '[]', '{"baseUrl":1,"key":"k"}', '{"baseUrl":"http://a","key":""}', 'no JSON gsk_secret']) {
    const response = await fetch(`${origin}/data/setup/test`, { method: 'POST', headers: asOwner, body });
    expect(response.status, body).toBe(400);
    expect(await response.text()).not.toContain('gsk_secret');
  }
  await expect(stat(join(folder, '.env'))).rejects.toThrow('ENOENT');
});

describeWith(noBrowser)('the setup in a browser', () => {
  test('leads from an empty folder, after a wrong key, to the numbers of the first sync', async () => {
    const sandbox = await startStillSandbox({ brands: 1, prompts: 3, days: 3 });
    onTestFinished(() => sandbox.close());
    const { signInUrl, metricsUrl, folder } = await serveEmpty('--metrics-port', '0');
    const metrics = async (): Promise<string> => (await fetch(metricsUrl ?? '')).text();
    expect(await metrics()).not.toMatch(/^sightline_budget_limit_requests\{.*\} \d/m);
    const page = await openPage(signInUrl, { viewport: { width: 375, height: 800 } });
    await page.getByRole('heading', { name: 'Set up workspace default' }).waitFor();
    expect(page.url()).not.toContain('#');
    await expectUsable(page);
    await page.getByLabel('Address of the API').fill(sandbox.baseUrl);
    await page.getByLabel('Key of the workspace').fill('gsk_wrong');
    await page.getByRole('button', { name: 'Test and save' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toMatch(/key/i);
    await expect(stat(join(folder, '.env'))).rejects.toThrow('ENOENT');
    await page.getByLabel('Key of the workspace').fill(sandbox.key);
    await page.getByRole('button', { name: 'Test and save' }).click();
    await page.getByText('The first sync will take about').waitFor();
    await expectUsable(page);
    expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, '.env'), 'utf8')).toContain(sandbox.key);
    expect(await page.content()).not.toContain(sandbox.key);
    const answers = await page.evaluate(`fetch('/data/setup').then((one) => one.text())`);
    expect(answers).not.toContain(sandbox.key);
    await page.getByRole('button', { name: 'Start the first sync' }).click();
    await page.getByRole('link', { name: 'Show the overview' }).click();
    const tile = page.getByRole('region', { name: 'Visibility', exact: true }).locator('.tile-value');
    await tile.and(page.locator(':not([data-value=""])')).waitFor();
    expect(Number(await tile.getAttribute('data-value'))).toBeGreaterThan(0);
    expect(await metrics()).toMatch(/^sightline_budget_limit_requests\{.*\} [1-9]/m);
  });

  test('reports a used link, and leads back to the requested page after signing in', async () => {
    const { signInUrl, origin, folder } = await serveEmpty();
    const first = await openPage(signInUrl);
    await first.getByRole('heading', { name: 'Set up workspace default' }).waitFor();
    const second = await openPage(signInUrl, { allowed: /status of 40[13]/ });
    await second.getByText('The sign-in link was used or has expired').waitFor();
    expect(await second.getByRole('alert').textContent()).toContain('sightline open');
    expect(second.url()).toBe(`${origin}/sign-in`);
    expect(await second.context().cookies()).toEqual([]);
    await second.goto(`${origin}/operations?x=1`);
    const key = await createKeyIn(folder);
    await second.getByLabel('Or use an API key of this server').fill(key);
    await second.getByRole('button', { name: 'Sign in' }).click();
    await second.locator('.sentence').waitFor();
    expect(second.url()).toBe(`${origin}/operations?x=1`);
    await second.getByRole('button', { name: 'Brand and workspace' }).click();
    expect(await second.getByText('Signed in with key reader').isVisible()).toBe(true);
    await second.getByRole('button', { name: 'Sign out' }).click();
    await second.getByRole('heading', { name: 'Sign in' }).waitFor();
    // A target on another host is not followed.
    await second.goto(`${origin}/sign-in?to=//other.example/`);
    await second.getByLabel('Or use an API key of this server').fill(key);
    await second.getByRole('button', { name: 'Sign in' }).click();
    await second.getByRole('heading', { name: 'No data yet' }).waitFor();
    expect(second.url()).toBe(`${origin}/`);
  });
});
