import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchBrowser, noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable } from './app-browser.ts';
import { openPage } from './open-page.ts';
import { serveStatus, workspaceBefore } from './support.ts';

const conventions = {
  deletedCompetitors: 'counted',
  urlTitle: 'first',
  domainShare: { of: 'responses' },
  citationCount: 'pages',
} as const;

const VOICE = 'Upstream also counts mentions of competitors that are no longer tracked.';
const TITLE = 'Pages have their latest title here, and upstream shows the first title.';
const SHARE = 'Upstream’s share is the responses that cite the domain, as a share of all responses.';
const COUNT = 'In upstream’s number a page counts once in a response.';

describeWith(noBrowser)('notes about measures that upstream defines in another way', () => {
  const workspace = workspaceBefore(15, { prompts: 4 });
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test.each([
    ['/', [VOICE, SHARE]],
    ['/sources', [SHARE, COUNT]],
    ['/sources?view=pages', [COUNT, TITLE]],
  ])('the page %s shows them only if the definitions differ', async (path, notes) => {
    const { config, key } = workspace();
    for (const isOther of [false, true]) {
      const served = { key, config: isOther ? { ...config, conventions } : config };
      const server = await serveStatus(served, { pages: 'loopback' });
      const { page } = await openPage(browser, `${server.origin}${path}`);
      const text = await page.locator('main').textContent();
      for (const note of notes) expect(text?.includes(note), note).toBe(isOther);
      if (isOther) await expectUsable(page, path);
      await page.close();
      await server.close();
    }
  });

  test('the model of the metrics has them', async () => {
    const { config, key } = workspace();
    const server = await serveStatus({ key, config: { ...config, conventions } });
    const { upstream } = (await (await server.ask('/data/metrics/model')).json()) as { upstream: unknown };
    expect(upstream).toEqual({ share_of_voice: VOICE, citations: COUNT, citation_share: SHARE, page_title: TITLE });
  });
});
