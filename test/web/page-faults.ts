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

/** Longest time of a step in a page, longer than `SETTLED` waits. Playwright waits without a limit for scripts and viewports. */
export const STEP_LIMIT_MS = 75_000;

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

/** Resolves with true once nothing is loading and a heading is shown in five frames, or after a minute with what it waits for. */
export const SETTLED = `new Promise((resolve) => {
  const isSettled = () => document.querySelector('h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null;
  const end = (result) => {
    observer.disconnect();
    clearTimeout(timer);
    resolve(result);
  };
  // Frames are requested only when nothing is loading, because each is drawn.
  const check = (frames) => {
    if (isSettled()) frames === 5 ? end(true) : requestAnimationFrame(() => check(frames + 1));
  };
  const observer = new MutationObserver(() => check(0));
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-busy', 'class'] });
  const timer = setTimeout(() => end(isSettled() ? 'no frames are drawn' : 'still loading'), 60_000);
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

/** Returns the result of a step. Rejects with its name if it does not end. */
export async function inTime<T>(step: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${step}: not over after ${STEP_LIMIT_MS / 1000} s`)), STEP_LIMIT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Returns what is wider than the page or its block. */
export async function overflowsIn(page: Page, width: number): Promise<string[]> {
  const seen = await seeIn(page, { width }, `${width}`);
  if (typeof seen === 'string') return [seen];
  return [
    ...(seen.scroll === 0 ? [] : [`scrolls ${seen.scroll} px to the side`]),
    ...((await inTime(`${width}: find overflows`, page.evaluate(OVERFLOWING))) as string[]),
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
    const seen = await seeIn(page, { width, colorScheme }, name);
    if (typeof seen === 'string') return [...faults, `${name}: ${seen}`];
    const violations = await violationsOf(page, rules, name);
    faults.push(...[...faultsOf(seen), ...violations].map((fault) => `${name}: ${fault}`));
    await afterLook(name);
  }
  return faults;
}

// Returns what is visible after the page has loaded, or why it has not. A page may load a part of its code after its data.
async function seeIn(
  page: Page,
  { width, colorScheme }: Pick<Look, 'width'> & Partial<Look>,
  name: string,
): Promise<Seen | string> {
  if (colorScheme !== undefined) await inTime(`${name}: set the colours`, page.emulateMedia({ colorScheme }));
  await inTime(`${name}: set the width`, page.setViewportSize({ width, height: 900 }));
  let loading: readonly string[] = [];
  for (let loads = 0; loads < LOADS_MAX; loads += 1) {
    const settled = await inTime(`${name}: wait for data`, page.evaluate(SETTLED));
    if (settled !== true) return `${settled} after a minute`;
    const seen = (await inTime(`${name}: read the page`, page.evaluate(SEEN))) as Seen;
    if (seen.loading.length === 0) return seen;
    ({ loading } = seen);
  }
  return `loads again and again: ${loading.join()}`;
}

function faultsOf({ headings, scroll, injected }: Seen): string[] {
  const faults: string[] = [];
  if (headings !== 1) faults.push(`${headings} main headings`);
  if (scroll !== 0) faults.push(`scrolls ${scroll} px to the side`);
  if (injected !== 0) faults.push('markup of upstream became part of the page');
  return faults;
}

async function violationsOf(page: Page, rules: Look['rules'], name: string): Promise<string[]> {
  if (rules === 'none') return [];
  const run = <T>(script: string): Promise<T> => inTime(`${name}: run axe`, page.evaluate<T>(script));
  if (await run<boolean>('window.axe === undefined')) await run(axe.source);
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'all' ? {} : { runOnly: { type: 'rule', values: CONTRAST } }),
  };
  const { violations } = await run<{ violations: Violation[] }>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) =>
        `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary.replaceAll('\n', ' ').slice(0, 300)}`,
    ),
  );
}
