import { stat } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliWorkspace, openCliFor, type Running, startedLine, until } from '../cli/helpers.ts';
import { launchBrowser, noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { type AppPage, expectUsable, LOOKS, openApp } from './app-browser.ts';

interface Serving extends Running {
  readonly statusUrl: string;
}

describeWith(noBrowser)('the operations page', () => {
  let browser: Browser;
  let workspace: CliWorkspace & { close: () => Promise<void> };
  let serving: Serving;
  let key: string;

  beforeAll(async () => {
    workspace = await openCliFor({ brands: 2, prompts: 2, days: 12, latencyMs: 100 });
    key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
    serving = await serve('0');
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await workspace.close();
  });

  async function serve(port: string): Promise<Serving> {
    const running = workspace.start('serve', '--json', '--port', port, '--no-jobs', '--log-level', 'warn');
    return { ...running, ...(await startedLine<{ statusUrl: string }>(running)) };
  }

  const open = (options?: Parameters<typeof openApp>[2]): Promise<AppPage> =>
    openApp(browser, serving.statusUrl, options);

  async function enter(page: Page, text = key): Promise<void> {
    await page.getByLabel('Or use an API key of this server').fill(text);
    await page.keyboard.press('Enter');
  }

  const sentence = (page: Page) => page.locator('.sentence');
  const unfold = (page: Page, id: string) => page.locator(`#${id} > summary`).click();
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`document.activeElement.dataset.date ?? document.activeElement.id ?? ''`);

  test('asks for a key, shows the progress and result of a sync, and asks again when the key is revoked', async () => {
    const { page, trouble } = await open();
    await enter(page, 'gsk_wrong');
    await page.getByText('The API key is invalid.').waitFor();
    // The browser reports the rejected key.
    expect(trouble.splice(0)).toEqual([expect.stringContaining('401')]);
    expect(await sentence(page).count()).toBe(0);
    await enter(page);
    await sentence(page).getByText('No data synced yet.').waitFor();
    await unfold(page, 'freshness');
    await page.locator('#freshness').getByText('No data yet.').waitFor();
    await page.locator('.live[data-state="live"]').waitFor();
    const synced = workspace.run('sync');
    await page.getByRole('progressbar').waitFor();
    await sentence(page).getByText('The first sync is running').waitFor();
    const values = new Set<unknown>();
    await until('its progress was seen to move', async () => {
      values.add(await page.evaluate(`document.querySelector('progress')?.value ?? null`));
      return [...values].filter((value) => value !== null).length >= 2;
    });
    expect(await synced).toMatchObject({ code: 0 });
    await sentence(page).getByText('All is well').waitFor();
    expect(await page.getByRole('progressbar').count()).toBe(0);
    // All resources are one line.
    expect(await page.locator('#freshness > summary').textContent()).toMatch(/all \d+ resources are complete/);
    await page
      .locator('#freshness')
      .getByText(/^\d+ resources complete, no day missing/)
      .waitFor();
    expect(await page.locator('#freshness').getByRole('region', { name: 'Incomplete resources' }).count()).toBe(0);
    await unfold(page, 'runs');
    expect(await page.locator('#runs tbody tr').count()).toBe(1);
    expect(
      await page.evaluate(`[document.cookie, location.href.includes('gsk_'), JSON.stringify(localStorage)]`),
    ).toEqual(['', false, '{}']);
    expect(await workspace.run('export')).toMatchObject({ code: 0 });
    await unfold(page, 'snapshots');
    await page.locator('#snapshots td summary').click();
    const link = page.locator('#snapshots a', { hasText: '.parquet' }).first();
    const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(file.suggestedFilename()).toMatch(/^\w+.*\.parquet$/);
    expect((await stat(await file.path())).size).toBeGreaterThan(100);
    expect(await workspace.run('keys', 'create', 'spare')).toMatchObject({ code: 0 });
    await unfold(page, 'keys');
    await page.locator('#keys').getByText('spare').waitFor();
    expect(trouble).toEqual([]);
    expect(await workspace.run('keys', 'revoke', 'page')).toMatchObject({ code: 0 });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.locator('.operations').count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/operations');
    await page.close();
    key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
  });

  test('shows the limit that upstream reported, days with arrow keys, and sessions that can be ended', async () => {
    const { page, trouble } = await open();
    await enter(page);
    await sentence(page).waitFor();
    const limit = await page.locator('.facts div', { hasText: 'Requests this minute' }).locator('dd').textContent();
    expect(limit).toMatch(/ of [\d,.]+$/);
    await unfold(page, 'requests');
    await page.locator('#requests').getByText('allowed by upstream').waitFor();
    await unfold(page, 'days');
    await page.locator('[data-date][tabindex="0"]').focus();
    const last = await focused(page);
    await page.keyboard.press('ArrowLeft');
    expect(Date.parse(await focused(page))).toBe(Date.parse(last) - 86_400_000);
    await page.keyboard.press('ArrowUp');
    expect(Date.parse(await focused(page))).toBe(Date.parse(last) - 8 * 86_400_000);
    expect(await page.locator('#day-told').textContent()).toContain('complete: read after its end');
    await page.keyboard.press('End');
    expect(await focused(page)).toBe(last);
    expect(await page.locator('[data-date][tabindex="0"]').count()).toBe(1);
    await unfold(page, 'sessions');
    await page
      .locator('#sessions')
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(trouble.filter((text) => !text.includes('401'))).toEqual([]);
    await page.close();
  });

  test.each(LOOKS)('is accessible and has no horizontal scroll at %i pixels, %s', async (width, colorScheme) => {
    const { page, trouble } = await open({ viewport: { width, height: 900 }, colorScheme });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expectUsable(page);
    await enter(page);
    await sentence(page).waitFor();
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await page.locator('#sessions tbody tr').first().waitFor();
    await expectUsable(page);
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('reports a lost connection and the age of the shown data, and recovers automatically', async () => {
    const { page, trouble } = await open();
    await enter(page);
    await page.locator('.live[data-state="live"]').waitFor();
    const { port } = new URL(serving.statusUrl);
    serving.process.kill('SIGTERM');
    expect(await serving.finished).toMatchObject({ code: 0 });
    await page.locator('.banner').getByText('Shown data:').waitFor();
    expect(await page.locator('.live').textContent()).toBe('not connected');
    expect(await sentence(page).isVisible()).toBe(true);
    // A server that is shutting down answers requests on open connections with 503.
    expect(trouble.splice(0).filter((text) => !/net::ERR_|status of 503/.test(text))).toEqual([]);
    serving = await serve(port);
    await page.locator('.live[data-state="live"]').waitFor();
    expect(await page.locator('.banner').count()).toBe(0);
    expect(trouble.filter((text) => !text.includes('net::ERR_'))).toEqual([]);
    await page.close();
  });
});
