import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serveWorld } from '../../serve/served-world.ts';
import { noBrowser, sharedBrowser } from '../../support/browser.ts';
import { IS_ENDURANCE, sampleOf } from '../../support/counts.ts';
import { describeWith } from '../../support/needs.ts';
import { ROOT } from '../../support/root.ts';
import { inTime, LOOKS, type Look } from '../page-faults.ts';
import { serveStatus, worldBefore } from '../support.ts';
import { FLEET_PAGES, NOTES, PAGE_EXAMPLES } from './page-examples.ts';
import { openVisitor } from './page-trouble.ts';
import { type OpenedWorld, OTHER_DEFINITIONS, PAGE_WORLDS } from './page-worlds.ts';

/** Folder of the screenshots, which git ignores. */
const SCREENSHOTS = fileURLToPath(new URL('test/output/pages', ROOT));

// A path that the compiler cannot follow, because the pages have their own settings.
const registry: string = fileURLToPath(new URL('src/web/app/pages/registry.ts', ROOT));
const exported: object = await import(registry);

/** The look of worlds that have the elements of another world, with other texts. */
const ONE_LOOK: Look = { width: 1280, colorScheme: 'light', rules: IS_ENDURANCE ? 'all' : 'none' };

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
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sightline-pages-'));
    if (IS_ENDURANCE) {
      await mkdir(SCREENSHOTS, { recursive: true });
      process.stderr.write(`Screenshots of the pages: ${SCREENSHOTS}\n`);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe.each(PAGE_WORLDS.map((one, index) => ({ ...one, index })))('$title', ({ index, ...one }) => {
    const { title, shows = 'some pages', hasOneLook = false, open } = one;
    let world: OpenedWorld;
    let show: Awaited<ReturnType<typeof openVisitor>>;
    let close: () => Promise<void>;
    let numbers = 0;
    beforeAll(async () => {
      world = await open(join(folder, title));
      const server = await serveWorld(world.config, { pages: 'loopback', queryTimeoutMs: 120_000 }, world.clock);
      const context = await (await sharedBrowser()).newContext({ reducedMotion: 'reduce' });
      show = await openVisitor(context, new URL(server.baseUrl).origin);
      close = async () => {
        await inTime('close the pages', context.close());
        await inTime('close the server', server.close());
        await inTime('close the world', world.close());
      };
    });
    afterAll(() => close());

    const firstViews = views.filter(({ place }) => place === 0);
    const shown = {
      'all views': views,
      'views with notes': views.filter(({ notes }) => notes !== undefined),
      'some pages': sampleOf(firstViews, Math.ceil(firstViews.length / 12), index),
    }[shows];
    // Other views of a page have its layout. In `npm run test:endurance` each view is checked in all looks.
    const looksOf = (place: number): readonly Look[] => {
      if (hasOneLook) return [ONE_LOOK];
      return IS_ENDURANCE || (shows === 'all views' && place === 0) ? LOOKS : sampleOf(LOOKS, 1, index + place);
    };
    test.each(shown)('$name', async ({ name, path, place, isWithoutNames = false, computed, notes }) => {
      const file = join(SCREENSHOTS, `${title}${name.replace(/[^a-z]+/gi, ' ')}`.trim());
      const seen = await show({
        path: path(world.ids),
        looks: looksOf(place),
        text: isWithoutNames ? null : world.brand,
        notes: notes ?? Object.values(NOTES),
        hasNotes: shows === 'views with notes',
        computed,
        screenshot: IS_ENDURANCE ? file : null,
      });
      expect(seen.trouble).toEqual([]);
      numbers += seen.numbers;
    });

    if (shows === 'all views')
      test('all pages together show more than 500 numbers of their requests', () => {
        expect(numbers).toBeGreaterThan(500);
      });
  });
});

describe('the model of the metrics', () => {
  const workspace = worldBefore('tiny');

  test('has notes about measures that upstream defines in another way', async () => {
    const { config, key } = workspace();
    const server = await serveStatus({ key, config: { ...config, conventions: OTHER_DEFINITIONS } });
    const { upstream } = await server.json<{ upstream: unknown }>('/data/metrics/model');
    expect(upstream).toEqual(NOTES);
  });
});
