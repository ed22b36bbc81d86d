import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliWorkspace, openCliFor, type Running, until } from '../cli/helpers.ts';
import { browserPath, launchBrowser, sayWithoutBrowser } from '../support/browser.ts';
import { contrast, luminance } from '../support/contrast.ts';

interface Serving extends Running {
  readonly statusUrl: string;
}

if (browserPath === undefined) sayWithoutBrowser('the status page');
describe.skipIf(browserPath === undefined)('the status page in a browser', () => {
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
    const lines = createInterface({ input: running.process.stdout as NodeJS.ReadableStream });
    const line = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve);
      void running.finished.then(({ stderr }) => reject(new Error(stderr)));
    });
    return { ...running, statusUrl: (JSON.parse(line) as { statusUrl: string }).statusUrl };
  }

  /** Opens the page; `trouble` collects console messages, errors and requests to other hosts. */
  async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<{ page: Page; trouble: string[] }> {
    const page = await browser.newPage(options);
    const trouble: string[] = [];
    page.on('console', (message) => trouble.push(message.text()));
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(serving.statusUrl)) trouble.push(request.url());
    });
    await page.addInitScript(
      `document.addEventListener('securitypolicyviolation', ({ blockedURI }) => console.error('blocked ' + blockedURI))`,
    );
    await page.goto(serving.statusUrl);
    return { page, trouble };
  }

  async function enter(page: Page, text = key): Promise<void> {
    await page.getByLabel('API key of this server').fill(text);
    await page.keyboard.press('Enter');
  }

  const headline = (page: Page) => page.locator('.sentence');
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`document.activeElement.dataset.date ?? document.activeElement.id ?? ''`);

  test('asks for a key, shows the progress and result of a sync, and asks again when the key is revoked', async () => {
    const { page, trouble } = await open();
    await enter(page, 'gsk_wrong');
    await page.getByText('The API key is invalid.').waitFor();
    expect(await page.locator('#report').isVisible()).toBe(false);
    await enter(page);
    await page.getByText('No data synced yet.').waitFor();
    expect(await page.getByText('No data yet.').count()).toBeGreaterThan(1);
    const synced = workspace.run('sync');
    await page.getByRole('progressbar').waitFor();
    await headline(page).getByText('The first sync is running').waitFor();
    const values = new Set<unknown>();
    await until('its progress was seen to move', async () => {
      values.add(await page.evaluate(`document.querySelector('progress')?.value ?? null`));
      return [...values].filter((value) => value !== null).length >= 2;
    });
    expect(await synced).toMatchObject({ code: 0 });
    await headline(page).getByText('All is well').waitFor();
    await page.locator('#charts svg').nth(1).waitFor();
    expect(await page.getByRole('progressbar').count()).toBe(0);
    expect(await page.locator('#runs tbody tr').count()).toBe(1);
    expect(await page.locator('#announcer').textContent()).toContain('All is well');
    expect(await page.evaluate(`[localStorage.length, document.cookie, location.href.includes('gsk_')]`)).toEqual([
      0,
      '',
      false,
    ]);
    // A snapshot file, which a plain link could not fetch with a key.
    expect(await workspace.run('export')).toMatchObject({ code: 0 });
    await page.locator('#snapshots summary').click();
    const link = page.locator('#snapshots a', { hasText: '.parquet' }).first();
    const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(file.suggestedFilename()).toMatch(/^\w+.*\.parquet$/);
    expect((await stat(await file.path())).size).toBeGreaterThan(100);
    // A new tab must ask for the key again.
    const other = await open();
    await other.page.getByRole('heading', { name: 'This page needs a key' }).waitFor();
    await other.page.close();
    expect(await workspace.run('keys', 'create', 'spare')).toMatchObject({ code: 0 });
    await page.locator('#keys').getByText('spare').waitFor();
    expect(await workspace.run('keys', 'revoke', 'page')).toMatchObject({ code: 0 });
    await page.getByText('This key was revoked or has expired.').waitFor();
    expect(await page.locator('#report').textContent()).not.toContain('gsk_');
    expect(trouble).toEqual([]);
    await page.close();
    key = (await workspace.run('keys', 'create', 'page')).stdout.trim();
  });

  test('is usable with the keyboard alone', async () => {
    const { page, trouble } = await open();
    await enter(page);
    await page.locator('#charts svg').nth(1).waitFor();
    expect(await focused(page)).toBe('main');
    await page.getByRole('button', { name: 'Forget key' }).click();
    await enter(page);
    await page.locator('#charts svg').nth(1).waitFor();
    await page.reload();
    await page.locator('#charts svg').nth(1).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the status');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('main');
    // The calendar has one tab stop; the arrow keys move within it.
    const stops: string[] = [];
    for (let time = 0; time < 60 && !stops.includes('charts-to'); time++) {
      await page.keyboard.press('Tab');
      stops.push(await focused(page));
    }
    expect(stops.filter((stop) => /^\d{4}-/.test(stop))).toHaveLength(1);
    expect(
      stops
        .filter((stop) => /^(freshness|days|charts)-/.test(stop))
        .filter((stop, at, all) => all.indexOf(stop) === at),
    ).toEqual(['freshness-brand', 'days-brand', 'charts-brand', 'charts-from', 'charts-to']);
    await page.locator('[data-date][tabindex="0"]').focus();
    const last = await focused(page);
    await page.keyboard.press('ArrowLeft');
    expect(Date.parse(await focused(page))).toBe(Date.parse(last) - 86_400_000);
    await page.keyboard.press('ArrowUp');
    expect(Date.parse(await focused(page))).toBe(Date.parse(last) - 8 * 86_400_000);
    expect(await page.locator('#day-told').textContent()).toContain('whole: read after its end');
    await page.keyboard.press('End');
    expect(await focused(page)).toBe(last);
    const from = await page.locator('#charts-from').inputValue();
    await page.locator('[data-days="90"]').focus();
    await page.keyboard.press('Enter');
    await until('the range is another', async () => (await page.locator('#charts-from').inputValue()) < from);
    expect(await page.locator('[aria-pressed="true"]').textContent()).toBe('90 days');
    const drawn = await page.locator('#charts svg').first().getAttribute('aria-label');
    await page.locator('#charts-brand').focus();
    await page.keyboard.press('ArrowDown');
    await until(
      'another brand is drawn',
      async () => (await page.locator('#charts svg').first().getAttribute('aria-label')) !== drawn,
    );
    await page.locator('summary', { hasText: 'The numbers' }).first().focus();
    await page.keyboard.press('Enter');
    expect(await page.locator('#charts tbody tr').first().isVisible()).toBe(true);
    await page.locator('#charts-from').fill('2020-01-01');
    await page.getByText('A range can have at most 366 days.').waitFor();
    const headings = await page.locator('h1, h2:visible').allTextContents();
    expect(headings.length).toBeGreaterThan(9);
    for (const role of ['banner', 'main', 'navigation', 'contentinfo'] as const)
      expect(await page.getByRole(role).count()).toBe(1);
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('fits a phone, and is legible in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, trouble } = await open({ colorScheme, viewport: { width: 360, height: 740 } });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      await enter(page);
      await page.locator('#charts svg').nth(1).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      expect(await page.locator('#charts svg').first().getAttribute('viewBox')).toContain('0 0 360 ');
      const texts = (await page.evaluate(TEXTS)) as { text: string; colour: string; behind: string }[];
      expect(texts.length).toBeGreaterThan(150);
      const faint = texts.filter(({ colour, behind }) => contrast(luminance(colour), luminance(behind)) < 4.5);
      expect(faint).toEqual([]);
      expect(trouble).toEqual([]);
      await page.close();
    }
  });

  test('reports a lost connection and the age of the shown data, and recovers automatically', async () => {
    const { page, trouble } = await open();
    await enter(page);
    await headline(page).waitFor();
    const { port } = new URL(serving.statusUrl);
    serving.process.kill('SIGTERM');
    expect(await serving.finished).toMatchObject({ code: 0 });
    await page.locator('#banner').getByText('Shown data:').waitFor();
    expect(await page.locator('#live-text').textContent()).toBe('not connected');
    expect(await headline(page).isVisible()).toBe(true);
    serving = await serve(port);
    await page.locator('.live[data-state="live"]').waitFor();
    expect(await page.locator('#banner').isVisible()).toBe(false);
    expect(trouble.filter((text) => !text.includes('net::ERR_'))).toEqual([]);
    await page.close();
  });
});

/** Every visible text with its colour and background. */
const TEXTS = `[...document.querySelectorAll('body *')].flatMap((element) => {
  const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
  const box = element.getBoundingClientRect();
  if (text === '' || box.width < 2 || !element.checkVisibility() || ['TITLE', 'title', 'desc', 'OPTION'].includes(element.tagName)) return [];
  const style = getComputedStyle(element);
  const colour = element instanceof SVGElement ? style.fill : style.color;
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  return [{ text, colour, behind: getComputedStyle(behind ?? document.body).backgroundColor }];
})`;
