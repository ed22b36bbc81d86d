import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { noBrowser } from '../support/browser.ts';
import { sampleOf } from '../support/counts.ts';
import { describeWith } from '../support/needs.ts';
import { ROOT } from '../support/root.ts';
import { daysOf, follow, openDataPage, openPage, rowsOf, settled } from './open-page.ts';
import { overflowsIn } from './page-faults.ts';
import { serverBefore, worldBefore } from './support.ts';

interface Item {
  readonly id: string;
  readonly prompt: string;
  readonly citations: readonly { readonly url: string }[];
}

// A path that the compiler cannot follow, because the pages have their own settings.
const registry: string = fileURLToPath(new URL('src/web/app/pages/registry.ts', ROOT));
const { PAGES } = (await import(registry)) as { PAGES: readonly { readonly pattern: string }[] };

/** Tiles and other blocks of the overview. */
const OVERVIEW_BLOCKS = 5 + 5;

/** Items of the menu of a chart. */
const MENU = ['Values', 'Show SQL', 'Download CSV', 'Download XLSX', 'Download PNG', 'Copy link'];

describeWith(noBrowser)('a reader of the data pages', () => {
  const server = serverBefore(worldBefore('months'));
  const open = (path: string) => openDataPage(`${server().origin}${path}`);

  test('marks an opportunity as done and takes it back, and says whose a site is', async () => {
    const page = await open('/opportunities');
    const names = () => page.locator('tbody td[data-part="name"] .named').allInnerTexts();
    const row = page.locator('tbody tr:not(.space)').first();
    const [first = ''] = await names();
    await row.getByRole('button', { name: 'Done' }).click();
    const done = page.getByRole('button', { name: 'done 1' });
    await done.click();
    expect(await names()).toEqual([first]);
    await row.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('No row matches.').waitFor();
    await page.goto(new URL('/opportunities', page.url()).href);
    await settled(page);
    expect((await names())[0]).toBe(first);

    await page.goto(new URL('/sources', page.url()).href);
    await settled(page);
    const owner = page.locator('button.owner', { hasText: 'Owner?' }).first();
    const [name = ''] = /Owner of .*/.exec((await owner.textContent()) ?? '') ?? [];
    const named = page.locator('button.owner', { hasText: name });
    await owner.click();
    await page.getByRole('button', { name: 'A forum' }).click();
    await named.filter({ hasText: 'forum' }).waitFor();
    await named.click();
    await page.getByRole('listitem').filter({ hasText: ': A forum' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await named.filter({ hasText: 'Owner?' }).waitFor();
  });

  test('a link to a block of a page shows the block when those above it have loaded', async () => {
    const page = await open('/competitors#lost-prompts');
    const top = async () => (await page.locator('.panel[aria-label="Lost prompts"]').boundingBox())?.y;
    await expect.poll(top).toBeLessThan(page.viewportSize()?.height ?? 0);
  });

  test('writes a report, which begins with the brief, and sends its link', async () => {
    const page = await open('/reports');
    const card = page.locator('.report-card').first();
    await card.getByRole('button', { name: 'Write the report' }).click();
    await card.getByRole('button', { name: 'Write again' }).waitFor();
    const sentence = (await card.locator('.headline').textContent()) ?? '';
    expect(sentence).toMatch(/^Visibility /);
    const picture = card.getByRole('img');
    expect(
      await picture.evaluate((image: { decode(): Promise<void>; naturalWidth: number }) =>
        image.decode().then(() => image.naturalWidth),
      ),
    ).toBe(820);
    const link = card.getByRole('link', { name: 'Open' });
    const address = await link.evaluate((anchor: { href: string }) => anchor.href);
    const mail = (await card.getByRole('link', { name: 'Send by mail' }).getAttribute('href')) ?? '';
    expect(new URL(mail).searchParams.get('body')).toBe(`${sentence.replaceAll('\u202f', ' ')}\n\n${address}`);
    await link.click();
    await page.waitForURL(address);
    expect(await page.locator('main > :nth-child(2)').textContent()).toContain(sentence);
    const contents = page.getByRole('navigation', { name: 'Contents' }).getByRole('link');
    for (const each of await contents.all()) {
      const target = decodeURIComponent((await each.getAttribute('href')) ?? '');
      expect(await page.locator(`[id="${target.slice(1)}"]`).count(), target).toBe(1);
    }
    // The links of a report that the page wrote lead to this server.
    expect(await page.locator('.morning a').first().getAttribute('href')).toMatch(`${server().origin}/`);
  });

  test('compares no period that is not read completely, and says so', async () => {
    const page = await open('/compare?of=period&a=2025-06-01..2025-06-28&b=2026-02-01..2026-02-28');
    const block = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Measures' }) });
    expect(await block.locator('.change-sentence').textContent()).toBe(
      'No comparison: not every day of 1 to 28 Jun 2025 is read completely.',
    );
    expect(await block.getByRole('columnheader', { name: 'Difference' }).count()).toBe(0);
  });

  test('focuses the search and lists the keys, but not while something is typed', async () => {
    const page = await open('/sources');
    const search = page.getByRole('searchbox').first();
    const list = page.getByRole('dialog', { name: 'Keys' });
    await page.keyboard.press('/');
    await page.keyboard.type('?/');
    expect(await search.inputValue()).toBe('?/');
    expect(await list.isVisible()).toBe(false);
    await search.blur();
    await page.keyboard.press('?');
    await list.waitFor();
    expect(await list.locator('kbd').allTextContents()).toEqual(['/', 'j', 'k', 'Esc', '?']);
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    await page.goto(new URL('/explain', page.url()).href);
    await settled(page);
    await page.keyboard.press('/');
    await page.waitForURL((url) => url.pathname === '/responses');
  });

  test('finds SQL, values of charts with the keyboard, and a link to the details in every block and row', async () => {
    const page = await open('/');
    const visibility = page.locator('section.panel', {
      has: page.getByRole('heading', { name: 'Visibility over time' }),
    });
    const menu = visibility.getByRole('button', { name: 'Menu of Visibility over time' });
    await menu.click();
    expect(await visibility.locator('.menu-item:visible').allInnerTexts()).toEqual(MENU);
    for (const [label, ending] of [
      ['Download CSV', 'csv'],
      ['Download XLSX', 'xlsx'],
      ['Download PNG', 'png'],
    ] as const) {
      if ((await visibility.locator('.menu-item:visible').count()) === 0) await menu.click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        visibility.getByRole('button', { name: label }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`Visibility over time.${ending}`);
    }
    await menu.click();
    await visibility.getByRole('button', { name: 'Show SQL' }).click();
    expect(await visibility.locator('dialog code').textContent()).toMatch(/^WITH /);
    await page.keyboard.press('Escape');
    const chart = page.getByRole('group', { name: /^Visibility over time\./ });
    await chart.focus();
    await page.keyboard.press('End');
    expect(await chart.getByRole('status').textContent()).toMatch(/n = \d/);
    const blocks = page.locator('main section.tile, main section.panel');
    const shown = await blocks.all();
    expect(shown).toHaveLength(OVERVIEW_BLOCKS);
    const targets = new Set<string>();
    for (const block of shown) {
      const title = (await block.getAttribute('aria-label')) ?? '';
      expect(await block.getByRole('button', { name: `Menu of ${title}`, exact: true }).count(), title).toBe(1);
      const heading = block.locator('h2 a');
      expect(await heading.count(), title).toBe(1);
      targets.add((await heading.getAttribute('href')) ?? '');
      const items = block.locator('.data-table tbody tr:not(.space), .events > li:has(span)');
      expect(await items.count(), title).toBe(await items.filter({ has: page.locator('a[href^="/"]') }).count());
      const first = items.locator('a[href^="/"]').first();
      if ((await first.count()) > 0) targets.add((await first.getAttribute('href')) ?? '');
    }
    expect(targets.size).toBeGreaterThan(7);
    const details = PAGES.filter(({ pattern }) => pattern !== '/').map(({ pattern }) =>
      pattern.replace(':id', '[^/]+'),
    );
    for (const target of targets)
      expect(new URL(target, server().origin).pathname).toMatch(new RegExp(`^(${details.join('|')})$`));
    for (const target of sampleOf([...targets], 3)) {
      await follow(page, target);
      await settled(page);
      expect(await page.locator('h1').textContent(), target).not.toMatch(/not found/i);
      expect(await page.locator('[role=alert]').count(), target).toBe(0);
    }
  });

  test('searches responses, steps with keys through those found, and sees each as /v1 serves it', async () => {
    const [{ brand_id: brand } = {}] = await server().records('/data/queries/brands');
    const page = await open('/responses');
    const { search: range } = await daysOf(page, 'response_list');
    const { data: items } = await server().json<{ data: Item[] }>(`/v1/brands/${brand}/responses?limit=100&${range}`);
    const cited = items.flatMap(({ citations }) => citations.map(({ url }) => url));
    const url = cited.find((one, index) => cited.indexOf(one) < index) ?? '';
    expect((await rowsOf(page, 'All responses')).slice(0, 5).map(({ text }) => text)).toEqual(
      items.slice(0, 5).map(({ prompt }) => prompt),
    );
    await page.getByLabel('Search').fill(url);
    await page.waitForURL((address) => address.searchParams.get('search') === url);
    await settled(page);
    const found = (
      await server().records(`/data/queries/response_list?brand=${brand}&${range}&search=${encodeURIComponent(url)}`)
    ).map((row) => String(row['response_id']));
    expect(found.length).toBeGreaterThan(1);
    const links = page
      .getByRole('region', { name: 'Rows of All responses', exact: true })
      .locator('tbody td:first-child a');
    await expect.poll(() => links.first().getAttribute('href')).toContain(found[0]);
    await page.getByLabel('Search').blur();
    for (const key of ['j', 'j', 'k', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/responses/${found[0]}`));
    await settled(page);
    await page.getByText('JSON', { exact: true }).click();
    const shown = JSON.parse((await page.locator('.json code').textContent()) ?? 'null') as Item;
    expect(shown).toEqual(items.find(({ id }) => id === found[0]));
    await page.locator('.steps a', { hasText: 'Older' }).waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(new RegExp(`/responses/${found[1]}`));
    await page.locator('.steps a', { hasText: 'Newer' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.waitForURL(new RegExp(`/responses/${found[0]}`));
    await page.getByRole('link', { name: 'All responses', exact: true }).click();
    expect(await page.getByLabel('Search').inputValue()).toBe(url);
    // Keys that are typed into a field follow no link.
    await page.getByLabel('Search').press('j');
    expect(new URL(page.url()).pathname).toBe('/responses');
  });

  test('says why an address shows no data, with a way on, instead of another view or no end of loading', async () => {
    const page = await openPage(server().origin, { allowed: /status of 404/ });
    for (const [path, said] of [
      ['/?brand=nope', /brand nope does not exist/],
      ['/competitors?from=2026-13-01&to=2026-12-31', /from=2026-13-01; allowed: a calendar day/],
      ['/nonsense', /There is no page at this address/],
    ] as const) {
      await page.goto(new URL(path, server().origin).href);
      await page.locator('h1').waitFor();
      expect(await page.locator('main').textContent(), path).toMatch(said);
      expect(await page.locator('main .skeleton').count(), path).toBe(0);
      await page.locator('main a').first().click();
      await settled(page);
      expect(await page.locator('main').textContent(), path).not.toMatch(said);
    }
  });

  test('keeps the view in the address, and the scroll position when going back', async () => {
    const page = await open('/prompts');
    await page.getByRole('button', { name: 'Filters', exact: false }).click();
    await page.getByLabel('Prompts', { exact: true }).selectOption('non-branded');
    await page.waitForURL(/branded=non-branded/);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('button', { name: /^Filters/ }).textContent()).toMatch(/Filters 1$/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/\/prompts\?.*branded=non-branded.*brand=/);
    await settled(page);
    await page.setViewportSize({ width: 1280, height: 400 });
    const link = page.locator('.data-table td:first-child a').last();
    await link.scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate('history.state?.scroll ?? 0')).toBeGreaterThan(0);
    const before = await page.evaluate('scrollY');
    await link.click();
    await page.waitForURL(/\/prompts\/./);
    expect(await page.evaluate('scrollY')).toBe(0);
    await settled(page);
    await page.goBack();
    await settled(page);
    await expect.poll(() => page.evaluate('scrollY')).toBe(before);
  });

  test('sees the statistics of a number with the pointer, the keyboard and a tap', async () => {
    const page = await open('/');
    expect(await page.evaluate(`document.fonts.check('14px "Inter Variable"')`)).toBe(true);
    const number = page.locator('.tile .number-button').first();
    const statistics = page.getByRole('tooltip');
    const expectShown = async (): Promise<void> => {
      for (const part of ['95 % interval', 'Sample (n)', 'days before', 'Change', 'Test'])
        expect(await statistics.textContent()).toContain(part);
    };
    await number.hover();
    await expectShown();
    await page.mouse.move(0, 0);
    expect(await statistics.count()).toBe(0);
    await number.focus();
    await expectShown();
    await page.keyboard.press('Escape');
    expect(await statistics.count()).toBe(0);
    await number.dispatchEvent('click');
    await expectShown();
  });

  test('sees nothing that is wider than its page or block at any width', async () => {
    const faults: string[] = [];
    const page = await open('/');
    // 640 is a window of 1,280 at 200 %.
    for (const { pattern } of PAGES.filter(({ pattern }) => !pattern.includes(':'))) {
      await follow(page, pattern);
      for (const width of sampleOf([320, 375, 640, 768, 1024, 1280, 1920], 3))
        faults.push(...(await overflowsIn(page, width)).map((fault) => `${pattern} ${width}: ${fault}`));
    }
    expect(faults).toEqual([]);
  });
});
