import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { ROOT } from '../../support/root.ts';

/** Folder of the screenshots, which git ignores. */
export const SCREENSHOTS = fileURLToPath(new URL('test/output/pages', ROOT));

/**
 * Widths and colours of each page. A cell differs from the one before it in one of them. Screenshots are taken of two cells, because they
 * cost more than the other checks.
 */
const CELLS = [
  { width: 1280, colorScheme: 'light', rules: 'all', isKept: true },
  { width: 1280, colorScheme: 'dark', rules: 'contrast', isKept: false },
  { width: 375, colorScheme: 'dark', rules: 'contrast', isKept: true },
  { width: 375, colorScheme: 'light', rules: 'all', isKept: false },
] as const;

/** Rules of axe with results that depend on the colours. */
const CONTRAST = ['color-contrast', 'link-in-text-block'];

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Size and colours of a page. */
interface Look {
  readonly headings: number;
  readonly scroll: number;
  readonly loading: readonly string[];
  readonly injected: number;
  readonly text: string;
}

const LOOK = `(() => {
  const main = document.querySelector('main');
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  return {
    headings: [...document.querySelectorAll('h1')].filter((heading) => visible(heading) && heading.textContent.trim() !== '').length,
    scroll: document.documentElement.scrollWidth - innerWidth,
    loading: [...document.querySelectorAll('[aria-busy=true], .skeleton')].map((element) => element.outerHTML.slice(0, 100)),
    injected: Number(window.hostile ?? 0) + document.querySelectorAll('body script, body [onerror], [href^="javascript:" i], [src^="javascript:" i]').length,
    text: document.title + '\\n' + document.body.textContent + '\\n' + [...document.querySelectorAll('input')].map(({ value }) => value).join('\\n'),
  };
})()`;

/** Resolves with whether nothing is loading and a heading is shown, once that is so in three frames, or after a minute. */
const SETTLED = `new Promise((resolve) => {
  const startedAt = performance.now();
  let frames = 0;
  const check = () => {
    const isSettled = document.querySelector('h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null;
    frames = isSettled ? frames + 1 : 0;
    if (frames === 3 || performance.now() - startedAt > 60_000) resolve(isSettled);
    else requestAnimationFrame(check);
  };
  check();
})`;

export interface PageAddress {
  /** Begins with the origin of the server. */
  readonly url: string;
  /** Name of the files of the screenshots. */
  readonly file: string;
  /** A text that the page has to show literally. */
  readonly text: string | null;
  /** Whether the page is checked in one width and colour scheme only; default: in all. */
  readonly hasOneLook?: boolean;
}

/** Opens a page and returns everything wrong with it, for each width and each colour scheme. */
export async function troubleOf(
  context: BrowserContext,
  { url, file, text, hasOneLook = false }: PageAddress,
): Promise<string[]> {
  const page = await context.newPage();
  const trouble = watch(page, new URL(url).origin);
  try {
    await mkdir(SCREENSHOTS, { recursive: true });
    const [first] = CELLS;
    await lookAs(page, first);
    await page.goto(url);
    for (const cell of hasOneLook ? [first] : CELLS) {
      if (cell !== first) await lookAs(page, cell);
      const name = `${cell.width} ${cell.colorScheme}`;
      const isSettled = await page.evaluate(SETTLED);
      trouble.push(
        ...[...faultsOf((await page.evaluate(LOOK)) as Look, text), ...(await violationsOf(page, cell.rules))].map(
          (fault) => `${name}: ${fault}`,
        ),
      );
      if (cell.isKept) await page.screenshot({ path: join(SCREENSHOTS, `${file} ${name}.png`), fullPage: true });
      if (isSettled !== true) return [...trouble, `${name}: still loading after a minute`];
    }
    return trouble;
  } finally {
    await page.close();
  }
}

// Collects console messages, errors, failed requests and requests to other origins.
function watch(page: Page, origin: string): string[] {
  const trouble: string[] = [];
  page.on('console', (message) => trouble.push(`console: ${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) trouble.push(`other origin: ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    // Pages abort requests if they no longer need the results.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') trouble.push(`failed: ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) trouble.push(`status ${response.status()}: ${response.url()}`);
  });
  return trouble;
}

async function lookAs(
  page: Page,
  { width, colorScheme }: { width: number; colorScheme: 'light' | 'dark' },
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 900 });
}

function faultsOf(look: Look, text: string | null): string[] {
  const faults: string[] = [];
  if (look.headings !== 1) faults.push(`${look.headings} main headings`);
  if (look.scroll !== 0) faults.push(`scrolls ${look.scroll} px to the side`);
  if (look.injected !== 0) faults.push('markup of upstream became part of the page');
  if (text !== null && !look.text.includes(text)) faults.push('the name of the brand is not shown');
  return [...faults, ...look.loading.map((html) => `still loading: ${html}`)];
}

async function violationsOf(page: Page, rules: 'all' | 'contrast'): Promise<string[]> {
  await page.evaluate(`window.axe === undefined && (() => { ${axe.source} })()`);
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'all' ? {} : { runOnly: { type: 'rule', values: CONTRAST } }),
  };
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: Violation[];
  };
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) =>
        `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary.replaceAll('\n', ' ').slice(0, 300)}`,
    ),
  );
}
