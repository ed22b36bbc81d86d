import { expect, test } from 'vitest';
import { createKey } from '../../src/serve/auth/keys.ts';
import type { FleetRow } from '../../src/web/page-data/fleet-row.ts';
import { openFleetServer, workspacesIn } from '../serve/fleet-server.ts';
import { stillClock } from '../serve/served-world.ts';
import { noBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, openPage } from './open-page.ts';
import { worldBefore } from './support.ts';

describeWith(noBrowser)('the list of workspaces in a browser', () => {
  const workspace = worldBefore('small');

  /** Serves `north`, which has data, and `south` and `south-east`, which have none. */
  async function serveFleet() {
    const folder = await temporaryFolder();
    const configs = await workspacesIn(folder, ['south', 'south-east']);
    configs.set('north', { ...workspace().config, name: 'north' });
    const { text: key } = await createKey(folder, 'fleet', null, stillClock.now(), { workspaces: 'all' });
    const server = await openFleetServer({ fleetFolder: folder, workspaces: () => configs }, { clock: stillClock });
    const signInUrl = await server.signInUrl();
    if (signInUrl === null) throw new Error('there is no sign-in link');
    return { origin: new URL(server.baseUrl).origin, key, signInUrl };
  }

  test('has a row per workspace with the numbers of /data/fleet, and leads to the pages of each', async () => {
    const { origin, key, signInUrl } = await serveFleet();
    const page = await openPage(signInUrl);
    const rows = page.getByRole('region', { name: 'Rows of Workspaces' }).locator('tbody tr');
    const north = rows.filter({ has: page.getByRole('link', { name: 'north', exact: true }) });
    await north.locator('[data-value]').first().waitFor();
    const answer = await fetch(`${origin}/data/fleet`, { headers: { 'x-api-key': key } });
    const listed = ((await answer.json()) as { workspaces: FleetRow[] }).workspaces;
    expect(await rows.getByRole('link').allTextContents()).toEqual(listed.map((row) => row.workspace));
    for (const { workspace: name, sentence, visibility } of listed) {
      const row = rows.filter({ has: page.getByRole('link', { name, exact: true }) });
      expect(await row.locator('.marked').textContent()).toBe(sentence);
      const shown = await row.locator('td').nth(2).getAttribute('data-value');
      expect(shown === null ? null : Number(shown), name).toBe(visibility?.['visibility'] ?? null);
    }
    await expectUsable(page);
    await page.getByText('Account').click();
    await page.getByRole('button', { name: 'Sessions' }).click();
    await page.getByText('this one').waitFor();
    await expectUsable(page, 'with sessions');
    await page.goto(`${origin}/?find=south`);
    await rows.last().waitFor();
    expect(await rows.count()).toBe(2);
    await page.getByLabel('Filter rows of Workspaces').fill('');
    await north.getByRole('link').click();
    await page.waitForURL(`${origin}/w/north/`);
    const tile = page.getByRole('region', { name: 'Visibility', exact: true }).locator('.tile-value');
    await tile.and(page.locator(':not([data-value=""])')).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Brand and workspace' }).click();
    await page.getByLabel('Workspace', { exact: true }).selectOption('south');
    await page.waitForURL(`${origin}/w/south/`);
    await page.getByRole('heading', { name: 'No data yet' }).waitFor();
    await page.goto(`${origin}/w/unknown/prompts`);
    await page.getByText('This workspace does not exist').waitFor();
  });
});
