import { stat } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliWorkspace, openCliFor, type Running, startedLine, until } from '../cli/helpers.ts';
import { noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, openPage } from './open-page.ts';

interface Serving extends Running {
  readonly statusUrl: string;
}

describeWith(noBrowser)('the operations page', () => {
  let workspace: CliWorkspace & { close: () => Promise<void> };
  let serving: Serving;
  let key: string;

  beforeAll(async () => {
    workspace = await openCliFor({ brands: 1, prompts: 2, days: 4, latencyMs: 100 });
    key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
    serving = await serve('0');
  });
  afterAll(() => workspace.close());

  async function serve(port: string): Promise<Serving> {
    const running = workspace.start('serve', '--json', '--port', port, '--no-jobs', '--log-level', 'warn');
    return { ...running, ...(await startedLine<{ statusUrl: string }>(running)) };
  }

  /** Opens the page; the browser reports rejected keys. */
  const open = (allowed = /status of 401/): Promise<Page> => openPage(serving.statusUrl, { allowed });

  async function enter(page: Page, text = key): Promise<void> {
    await page.getByLabel('Or use an API key of this server').fill(text);
    await page.keyboard.press('Enter');
  }

  const sentence = (page: Page) => page.locator('.sentence');
  const unfold = (page: Page, id: string) => page.locator(`#${id} > summary`).click();
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`document.activeElement.dataset.date ?? document.activeElement.id ?? ''`);

  test('asks for a key, shows the progress and result of a sync, and asks again when the key is revoked', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expectUsable(page, 'sign in');
    await enter(page, 'gsk_wrong');
    await page.getByText('The API key is invalid.').waitFor();
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
    expect(await workspace.run('keys', 'revoke', 'page')).toMatchObject({ code: 0 });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.locator('.operations').count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/operations');
    key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
  });

  test('shows the limit that upstream reported, days with arrow keys, and sessions that can be ended', async () => {
    const page = await open();
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
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
    await page.locator('#sessions tbody tr').first().waitFor();
    await expectUsable(page, 'with all parts open');
    await page
      .locator('#sessions')
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('reports a lost connection and the age of the shown data, and recovers automatically', async () => {
    // A server that is shutting down answers requests on open connections with 503.
    const page = await open(/net::ERR_|status of 503/);
    await enter(page);
    await page.locator('.live[data-state="live"]').waitFor();
    const { port } = new URL(serving.statusUrl);
    serving.process.kill('SIGTERM');
    expect(await serving.finished).toMatchObject({ code: 0 });
    await page.locator('.banner').getByText('Shown data:').waitFor();
    expect(await page.locator('.live').textContent()).toBe('not connected');
    expect(await sentence(page).isVisible()).toBe(true);
    serving = await serve(port);
    await page.locator('.live[data-state="live"]').waitFor();
    expect(await page.locator('.banner').count()).toBe(0);
  });
});
