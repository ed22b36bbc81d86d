import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';

/** A page of the app, and everything that a reader of the console would see. */
export interface AppPage {
  readonly page: Page;
  /** Console messages, errors, and requests to other servers. */
  readonly trouble: string[];
}

/** Opens a page of a server. */
export async function openApp(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<AppPage> {
  const page = await browser.newPage(options);
  const trouble: string[] = [];
  page.on('console', (message) => trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL('/', url).href)) trouble.push(request.url());
  });
  await page.goto(url);
  return { page, trouble };
}

/** Checks accessibility, and that the page does not scroll horizontally. `about` says which page or view it is. */
export async function expectUsable(page: Page, about = ''): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), about).toBe(0);
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  expect(found, about).toEqual([]);
}

/** Widths and colours in which a page is tested. */
export const LOOKS = [
  [1280, 'light'],
  [1280, 'dark'],
  [375, 'light'],
  [375, 'dark'],
] as const;

/** The wide and the narrow look that differ most, for tests of many pages. */
export const TWO_LOOKS = [LOOKS[0], LOOKS[3]] as const;
