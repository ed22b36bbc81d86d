import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, noBrowser } from '../../support/browser.ts';
import { sampleOf } from '../../support/counts.ts';
import { describeWith } from '../../support/needs.ts';
import { ROOT } from '../../support/root.ts';
import { serveQuietly, workspaceBefore } from '../support.ts';
import { SCREENSHOTS, troubleOf } from './page-cells.ts';
import { FLEET_PAGES, PAGE_EXAMPLES } from './page-examples.ts';
import { type OpenedWorld, PAGE_WORLDS } from './page-worlds.ts';

// A path that the compiler cannot follow, because the pages have their own settings.
const registry: string = fileURLToPath(new URL('src/web/app/pages/registry.ts', ROOT));
const exported: object = await import(registry);

/** All pages of the registry: the pages of the navigation, and pages with an export of their own. */
const titles = Object.values(exported)
  .flat()
  .map(({ title }: { readonly title: string }) => title)
  .filter((title) => !FLEET_PAGES.includes(title));

const views = titles.flatMap((title) => (PAGE_EXAMPLES[title] ?? []).map((view, place) => ({ ...view, place })));

test('each page of the registry has an example address', () => {
  expect(titles).toContain('Overview');
  expect(titles.filter((title) => PAGE_EXAMPLES[title] === undefined)).toEqual([]);
});

describeWith(noBrowser)('every page has no fault', () => {
  const small = workspaceBefore(70, { brands: 2, prompts: 8 });
  let browser: Browser;
  let folder: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    folder = await mkdtemp(join(tmpdir(), 'sightline-pages-'));
    process.stderr.write(`Screenshots of the pages: ${SCREENSHOTS}\n`);
  });
  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe.each(PAGE_WORLDS.map((one, index) => ({ ...one, index })))(
    '$title',
    ({ title, index, hasAllViews = false, hasOneLook = false, open }) => {
      let world: OpenedWorld;
      let context: BrowserContext;
      let origin: string;
      let close: () => Promise<void>;
      beforeAll(async () => {
        world = await open(join(folder, title), small().config);
        const server = await serveQuietly(world.config, { pages: 'loopback', queryTimeoutMs: 120_000 });
        origin = new URL(server.baseUrl).origin;
        context = await browser.newContext();
        close = async () => {
          await context.close();
          await server.close();
          await world.close();
        };
      });
      afterAll(() => close());

      const firstViews = views.filter(({ place }) => place === 0);
      const shown = hasAllViews ? views : sampleOf(firstViews, Math.ceil(firstViews.length / 12), index);
      test.concurrent.each(shown)('$name', async ({ name, path, isWithoutNames = false }) => {
        const file = `${title}${name.replace(/[^a-z]+/gi, ' ')}`.trim();
        const text = isWithoutNames ? null : world.brand;
        expect(await troubleOf(context, { url: `${origin}${path(world.ids)}`, file, text, hasOneLook })).toEqual([]);
      });
    },
  );
});
