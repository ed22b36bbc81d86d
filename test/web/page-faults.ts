import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { countOf } from '../support/counts.ts';

/** A width and a colour scheme, and the rules of axe that are checked in it. */
export interface Look {
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
  readonly rules: 'all' | 'contrast' | 'none';
}

/** The looks of each page. The first two differ in width and colours; the others are the other pairs of both. */
export const LOOKS: readonly Look[] = (
  [
    { width: 1280, colorScheme: 'light', rules: 'all' },
    { width: 375, colorScheme: 'dark', rules: 'all' },
    { width: 1280, colorScheme: 'dark', rules: 'contrast' },
    { width: 375, colorScheme: 'light', rules: 'contrast' },
  ] as const
).slice(0, countOf(2, 4));

/** Rules of axe with results that depend on the colours. */
const CONTRAST = ['color-contrast', 'link-in-text-block'];

/** How often a page may begin to load something after it has settled. */
const LOADS_MAX = 10;

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What is visible in a look. */
interface Seen {
  readonly headings: number;
  readonly scroll: number;
  readonly loading: readonly string[];
  readonly injected: number;
}

const SEEN = `(() => {
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  return {
    headings: [...document.querySelectorAll('h1')].filter((heading) => visible(heading) && heading.textContent.trim() !== '').length,
    scroll: document.documentElement.scrollWidth - innerWidth,
    loading: [...document.querySelectorAll('[aria-busy=true], .skeleton')].map((element) => element.outerHTML.slice(0, 100)),
    injected: Number(window.hostile ?? 0) + document.querySelectorAll('body script, body [onerror], [href^="javascript:" i], [src^="javascript:" i]').length,
  };
})()`;

/** Resolves with whether nothing is loading and a heading is shown, once that is so in five frames, or after a minute. */
export const SETTLED = `new Promise((resolve) => {
  const isSettled = () => document.querySelector('h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null;
  const end = () => {
    observer.disconnect();
    clearTimeout(timer);
    resolve(isSettled());
  };
  // Frames are requested only when nothing is loading, because each is drawn.
  const check = (frames) => {
    if (isSettled()) frames === 5 ? end() : requestAnimationFrame(() => check(frames + 1));
  };
  const observer = new MutationObserver(() => check(0));
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-busy', 'class'] });
  const timer = setTimeout(end, 60_000);
  check(0);
})`;

/** Elements that end right of their block; tables, charts and code may scroll or be cut within theirs. */
const OVERFLOWING = `(() => {
  const inner = '.table-box, .chart, .tabs, pre, .hidden-text, [popover], dialog, .clamped, .cm-editor';
  return [...document.querySelectorAll('.panel, .tile, .page-head, .side, .bottom')].flatMap((block) => {
    const edge = block.getBoundingClientRect().right + 1;
    return [...block.querySelectorAll('*')]
      .filter((element) => element.checkVisibility() && element.closest(inner) === null && element.getBoundingClientRect().right > edge)
      .map((element) => element.outerHTML.slice(0, 120));
  });
})()`;

/** Returns what is wider than the page or its block. */
export async function overflowsIn(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  const seen = await seeSettled(page);
  if (seen === null) return ['still loading after a minute'];
  return [
    ...(seen.scroll === 0 ? [] : [`scrolls ${seen.scroll} px to the side`]),
    ...((await page.evaluate(OVERFLOWING)) as string[]),
  ];
}

/** Returns what is wrong with a page in each look: accessibility, horizontal scroll, injected markup, unfinished requests. */
export async function faultsInLooks(
  page: Page,
  looks: readonly Look[],
  afterLook: (name: string) => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const faults: string[] = [];
  for (const { width, colorScheme, rules } of looks) {
    const name = `${width} ${colorScheme}`;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const seen = await seeSettled(page);
    if (seen === null) return [...faults, `${name}: still loading after a minute`];
    faults.push(...[...faultsOf(seen), ...(await violationsOf(page, rules))].map((fault) => `${name}: ${fault}`));
    await afterLook(name);
  }
  return faults;
}

// A page may load a part of its code after its data.
async function seeSettled(page: Page): Promise<Seen | null> {
  for (let loads = 0; loads < LOADS_MAX && (await page.evaluate(SETTLED)) === true; loads += 1) {
    const seen = (await page.evaluate(SEEN)) as Seen;
    if (seen.loading.length === 0) return seen;
  }
  return null;
}

function faultsOf({ headings, scroll, injected }: Seen): string[] {
  const faults: string[] = [];
  if (headings !== 1) faults.push(`${headings} main headings`);
  if (scroll !== 0) faults.push(`scrolls ${scroll} px to the side`);
  if (injected !== 0) faults.push('markup of upstream became part of the page');
  return faults;
}

async function violationsOf(page: Page, rules: Look['rules']): Promise<string[]> {
  if (rules === 'none') return [];
  if ((await page.evaluate('window.axe === undefined')) === true) await page.evaluate(axe.source);
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
