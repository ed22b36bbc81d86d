import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startServer } from './children.ts';
import { generate } from './generate.ts';
import { type Part, percentile, usageOf } from './measure.ts';

/** Number of server starts, each with the first visit of a browser without a cache. */
const STARTS = 3;
const SESSIONS = 10;

/** Changes of filters, as parameters of the address. Each gives a combination that the server has not seen. */
const CHANGES = [
  ['range', '7d'],
  ['branded', 'branded'],
  ['range', '90d'],
  ['branded', 'non-branded'],
  ['compare_to', 'year'],
  ['range', '28d'],
  ['compare_to', 'none'],
] as const;
const ENGINES = ['chatgpt', 'claude', 'gemini', 'perplexity'];

/** Resolves in the first frame in which no block of the overview is loading; `selector` selects the blocks. */
const shown = (selector: string): string => `new Promise((resolve) => {
  const check = () => {
    const blocks = [...document.querySelectorAll('${selector}')];
    const isShown = blocks.length >= 6 && blocks.every((block) =>
      block.ariaBusy !== 'true' && block.querySelector('.skeleton') === null && block.querySelector('svg.plot') !== null);
    if (isShown) resolve(performance.now());
    else requestAnimationFrame(check);
  };
  requestAnimationFrame(check);
})`;

/** The five tiles and the first chart. */
const FIRST = shown('.tile, .panel[aria-label="Visibility over time"]');
const SCRIPT_BYTES = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

interface Visit {
  readonly firstMs: number;
  readonly scriptBytes: number;
  readonly changesMs: readonly number[];
}

export interface PageFigures {
  /** Median time to tiles and first chart after a new filter. */
  readonly changedMs: number;
}

/** Opens the overview of a generated warehouse with `responses` responses in Chromium. Returns the figures as lines of text. */
export async function pageFigures(folder: string, responses: number): Promise<Part<PageFigures>> {
  await generate(folder, responses);
  const browser = await launchBrowser();
  try {
    const visits: Visit[] = [];
    for (let start = 1; start < STARTS; start++) visits.push(await serving(folder, (origin) => visit(browser, origin)));
    let peakMb = 0;
    await serving(folder, async (origin, peak) => {
      visits.push(await visit(browser, origin));
      await Promise.all(Array.from({ length: SESSIONS }, (_, session) => changeFilters(browser, origin, session)));
      peakMb = await peak();
    });
    const first = percentile(
      visits.map(({ firstMs }) => firstMs),
      0.5,
    );
    const changes = visits.flatMap(({ changesMs }) => changesMs);
    const changedMs = percentile(changes, 0.5);
    const lines = [
      `pages of ${responses.toLocaleString('en-US')} responses`,
      `  overview with tiles and first chart, server and browser just started: median ${first} ms of ${STARTS}`,
      `  tiles and first chart after a new filter: median ${changedMs} ms of ${changes.length}`,
      `  JavaScript of the overview: ${Math.round((visits[0]?.scriptBytes ?? 0) / 1000)} kB compressed`,
      `  server with ${SESSIONS} sessions that change filters at once: peak ${Math.round(peakMb)} MB resident`,
    ];
    return { lines, figures: { changedMs } };
  } finally {
    await browser.close();
  }
}

async function serving<T>(
  folder: string,
  use: (origin: string, peak: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const { process: server, origin } = await startServer(folder, ['--pages', 'loopback', '--no-jobs']);
  try {
    return await use(origin, async () => (await usageOf(server)).peakMb);
  } finally {
    server.kill('SIGKILL');
  }
}

async function visit(browser: Browser, origin: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(origin, { waitUntil: 'commit' });
  const firstMs = Math.round((await page.evaluate(FIRST)) as number);
  const scriptBytes = (await page.evaluate(SCRIPT_BYTES)) as number;
  const changesMs: number[] = [];
  for (const [name, value] of CHANGES) changesMs.push(await change(page, name, value));
  await context.close();
  return { firstMs, scriptBytes, changesMs };
}

// Every session begins with other filters, so that few responses of the server are shared.
async function changeFilters(browser: Browser, origin: string, session: number): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(
    `${origin}/?compare_to=${session % 2 === 0 ? 'none' : 'year'}&engine=${ENGINES[session % ENGINES.length]}`,
  );
  await page.evaluate(FIRST);
  for (const [name, value] of CHANGES) await change(page, name, value);
  await context.close();
}

// Changes the address as the field of a filter does. In the next task the blocks are marked as loading.
async function change(page: Page, name: string, value: string): Promise<number> {
  const script = `(async () => {
    const address = new URL(location.href);
    address.searchParams.set('${name}', '${value}');
    const startedAt = performance.now();
    history.pushState(null, '', address);
    dispatchEvent(new PopStateEvent('popstate'));
    await new Promise((resolve) => setTimeout(resolve));
    return Math.round((await ${FIRST}) - startedAt);
  })()`;
  return (await page.evaluate(script)) as number;
}
