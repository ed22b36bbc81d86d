import { setTimeout } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { IS_ENDURANCE } from '../../support/counts.ts';
import { follow } from '../open-page.ts';
import { faultsInLooks, inTime, type Look, STEP_LIMIT_MS } from '../page-faults.ts';

/** Widths and colours of the screenshots. */
const KEPT = ['1280 light', '375 dark'];
/** How often, and at which interval, bodies are searched for a number. */
const BODY_TRIES = 50;
const BODY_WAIT_MS = 100;

export interface ShownExample {
  /** Begins with a slash. */
  readonly path: string;
  readonly looks: readonly Look[];
  /** A text that the page has to show literally. */
  readonly text: string | null;
  /** Sentences that the page has to show if `hasNotes`, and must not show otherwise. */
  readonly notes: readonly string[];
  readonly hasNotes: boolean;
  /** Selects elements with numbers that are not in the data of the page. */
  readonly computed: string | undefined;
  /** Beginning of the paths of the screenshots; null for none. */
  readonly screenshot: string | null;
}

/** What is wrong with a shown page, and how many numbers of its requests it shows. */
interface Seen {
  readonly trouble: string[];
  readonly numbers: number;
}

/**
 * Returns a function that shows a page and returns everything wrong with it. The document is loaded once, and pages follow as after links,
 * because loading takes most of the time; in `npm run test:endurance` each page is a document of its own.
 */
export async function openVisitor(
  context: BrowserContext,
  origin: string,
): Promise<(example: ShownExample) => Promise<Seen>> {
  context.setDefaultTimeout(STEP_LIMIT_MS);
  let open: WatchedPage | null = null;
  return async (example) => {
    const isNew = open === null || IS_ENDURANCE;
    open ??= watch(await inTime('open a page', context.newPage()), origin);
    try {
      if (isNew) {
        open.bodies.length = 0;
        await open.page.goto(`${origin}${example.path}`);
      } else await follow(open.page, example.path);
      return await see(open, example);
    } catch (error) {
      // The other tests get a new page, because a step may have stopped this one.
      open = null;
      throw error;
    }
  };
}

async function see(
  { page, trouble, bodies, unread }: WatchedPage,
  { looks, text, notes, hasNotes, computed = ':not(*)', screenshot }: ShownExample,
): Promise<Seen> {
  const faults = await faultsInLooks(page, looks, async (name) => {
    if (screenshot !== null && KEPT.includes(name))
      await page.screenshot({ path: `${screenshot} ${name}.png`, fullPage: true });
  });
  const shown = String(await inTime('read the texts', page.evaluate(TEXT)));
  if (text !== null && !shown.includes(text)) faults.push('the name of the brand is not shown');
  for (const note of notes) if (shown.includes(note) !== hasNotes) faults.push(`shows or lacks: ${note}`);
  const numbers = page
    .locator('main [data-value]:not([data-value=""])')
    .and(page.locator(`:not(${computed})`))
    .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-value'))));
  const values = await inTime('read the numbers', numbers);
  const missing = await missingIn(bodies, values);
  faults.push(...missing.map((value) => `${value} is not in its data`));
  if (missing.length > 0) faults.push(...unread);
  return { trouble: [...trouble.splice(0), ...faults], numbers: values.length };
}

const TEXT = `document.title + '\\n' + document.body.textContent + '\\n' + [...document.querySelectorAll('input')].map(({ value }) => value).join('\\n')`;

interface WatchedPage {
  readonly page: Page;
  readonly trouble: string[];
  readonly bodies: Promise<number[]>[];
  /** Why bodies could not be read, for example because the page aborted the request. */
  readonly unread: string[];
}

// Collects console messages, errors, failed requests, requests to other origins, and the numbers of the data.
function watch(page: Page, origin: string): WatchedPage {
  const trouble: string[] = [];
  const bodies: Promise<number[]>[] = [];
  const unread: string[] = [];
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
    if (!/\/data\//.test(response.url())) return;
    const body = inTime(`read ${response.url()}`, response.json());
    bodies.push(
      body.then(numbersIn, (error: Error) => {
        unread.push(error.message);
        return [];
      }),
    );
  });
  return { page, trouble, bodies, unread };
}

// Returns the values that no body has. A body can be reported after the page has shown it, so missing values are searched again.
async function missingIn(bodies: readonly Promise<number[]>[], values: readonly number[]): Promise<number[]> {
  for (let tries = 0; ; tries++) {
    const given = new Set((await Promise.all(bodies)).flat());
    const missing = values.filter((value) => !given.has(value));
    if (missing.length === 0 || tries === BODY_TRIES) return missing;
    await setTimeout(BODY_WAIT_MS);
  }
}

/** All numbers of a JSON value, and the changes of the sessions in it. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return [...Object.values(value).flatMap(numbersIn), ...changesIn(value as Partial<TableResult>)];
}

function changesIn({ columns, rows = [] }: Partial<TableResult>): number[] {
  const [now, before] = ['sessions', 'sessions_before'].map((name) => columns?.findIndex((one) => one.name === name));
  if (now === undefined || before === undefined || before < 0) return [];
  return rows.map((row) => Number(row[now]) - Number(row[before]));
}
