import { readdirSync, readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { syncOpened } from '../../src/operations/sync.ts';
import { withWarehouse } from '../../src/workspace/workspace.ts';
import { temporaryFolder } from '../support/folders.ts';

test.skipIf(process.platform !== 'linux')('a sync that cannot start closes its budget', async () => {
  const folder = await temporaryFolder();
  const environment = { SIGHTLINE_BASE_URL: 'http://127.0.0.1:1/v1', SIGHTLINE_API_KEY: 'gsk_of_a_test' };
  const config = loadConfig({ flags: {}, environment, folder });
  const { signal } = new AbortController();
  const context = { config, clock: systemClock, signal, command: 'sync' };
  const work = withWarehouse(context, { memoryLimitMb: 64, threads: 1 }, async (opened) => {
    await opened.warehouse.close();
    return syncOpened(context, opened, 'sync', [{ only: null, range: null, brands: null }], () => undefined);
  });
  await expect(work).rejects.toThrow();
  expect(openFiles().filter((path) => path.startsWith(folder))).toEqual([]);
});

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
}
