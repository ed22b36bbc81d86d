import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { type CliWorkspace, openCli, until } from '../cli/helpers.ts';
import { startCommand, startedServer } from '../serve/running-command.ts';
import { noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, openPage } from './open-page.ts';

describeWith(noBrowser)('the operations page', () => {
  test('shows a sync, the state of the workspace and its sessions, and recovers from a lost connection', async () => {
    const workspace = await openCli({ brands: 1, prompts: 2, days: 4, latencyMs: 400 });
    const destinations = { team: { kind: 'duckdb', path: 'team.duckdb' } };
    await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ destinations }));
    const key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
    const serving = await serve(workspace, '0');
    // The browser reports rejected keys. A server that is shutting down answers requests on open connections with 503.
    const page = await openPage(serving.statusUrl, { allowed: /net::ERR_|status of (401|503)/ });
    await expectSync(page, workspace, key);
    await expectRevoked(page, workspace);
    const other = (await workspace.run('keys', 'create', 'page')).stdout.trim();
    await enter(page, other);
    await expectDaysAndSessions(page);
    await enter(page, other);
    await expectRecovery(page, workspace, serving);
  });
});

/** Serves a workspace in this process, at the time of its sandbox. */
async function serve({ folder, env }: CliWorkspace, port: string) {
  const args = ['serve', '--json', '--port', port, '--no-jobs', '--log-level', 'warn'];
  const running = startCommand(args, { cwd: folder, env, clock: systemClock });
  return { ...running, statusUrl: String((await startedServer(running)).statusUrl) };
}

async function enter(page: Page, text: string): Promise<void> {
  await page.getByLabel('Or use an API key of this server').fill(text);
  await page.keyboard.press('Enter');
}

const sentence = (page: Page) => page.locator('.sentence');
const unfold = (page: Page, id: string) => page.locator(`#${id} > summary`).click();
const focused = (page: Page): Promise<string> =>
  page.evaluate(`document.activeElement.dataset.date ?? document.activeElement.id ?? ''`);

// Asks for a key, and shows the progress and the result of a sync.
async function expectSync(page: Page, workspace: CliWorkspace, key: string): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await enter(page, 'gsk_wrong');
  await page.getByText('The API key is invalid.').waitFor();
  await expectUsable(page, 'sign in');
  expect(await sentence(page).count()).toBe(0);
  await enter(page, key);
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
}

// Shows snapshots, loads and keys, and asks for a key again when its own is revoked.
async function expectRevoked(page: Page, workspace: CliWorkspace): Promise<void> {
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
  expect(await page.locator('#destinations > summary').textContent()).toMatch(/0 of 1 up to date/);
  expect(await workspace.run('load')).toMatchObject({ code: 0 });
  await page.locator('#destinations > summary').getByText('1 of 1 up to date').waitFor();
  expect(await workspace.run('keys', 'create', 'spare')).toMatchObject({ code: 0 });
  await unfold(page, 'keys');
  await page.locator('#keys').getByText('spare').waitFor();
  expect(await workspace.run('keys', 'revoke', 'page')).toMatchObject({ code: 0 });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.locator('.operations').count()).toBe(0);
  expect(new URL(page.url()).pathname).toBe('/operations');
}

// Shows the limit that upstream reported, days with arrow keys, and sessions that can be ended.
async function expectDaysAndSessions(page: Page): Promise<void> {
  await sentence(page).waitFor();
  const limit = await page.locator('.facts div', { hasText: 'Requests this minute' }).locator('dd').textContent();
  expect(limit).toMatch(/ of [\d,.]+$/);
  await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
  await page.locator('#requests').getByText('allowed by the API').waitFor();
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
  await page.locator('#sessions tbody tr').first().waitFor();
  await expectUsable(page, 'with all parts open');
  await page
    .locator('#sessions')
    .getByRole('button', { name: /^Sign out/ })
    .first()
    .click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

async function expectRecovery(
  page: Page,
  workspace: CliWorkspace,
  serving: Awaited<ReturnType<typeof serve>>,
): Promise<void> {
  await page.locator('.live[data-state="live"]').waitFor();
  expect(await serving.stop()).toMatchObject({ code: 0 });
  await page.locator('.banner').getByText('Shown data:').waitFor();
  expect(await page.locator('.live').textContent()).toBe('not connected');
  expect(await sentence(page).isVisible()).toBe(true);
  await serve(workspace, new URL(serving.statusUrl).port);
  await page.locator('.live[data-state="live"]').waitFor();
  expect(await page.locator('.banner').count()).toBe(0);
}
