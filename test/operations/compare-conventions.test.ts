import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { compareWorkspace } from '../../src/operations/compare/compare.ts';
import { openContext, sync } from '../../src/operations/sightline.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { startDeviatingUpstream } from './deviating-upstream.ts';
import { plantedConventions } from './planted-conventions.ts';

const clock = { ...systemClock, now: () => NOW_MS };

test('a deviation that another candidate explains is reported with that convention', { timeout: 600_000 }, async () => {
  const upstream = await startDeviatingUpstream(17, { decimals: 'none' });
  onTestFinished(() => upstream.close());
  const folder = await temporaryFolder();
  const context = await openContext({
    folder,
    dataDir: folder,
    baseUrl: upstream.baseUrl,
    environment: { SIGHTLINE_API_KEY: upstream.key, SIGHTLINE_RAW_DAYS: '0' },
    clock,
  });
  await sync(context);
  const found: Record<string, unknown> = {};
  for (const { name, resource, requests, conventions: _, ...alteration } of plantedConventions) {
    await upstream.deviate(alteration);
    const request = { requests, brands: null, resources: [resource], seed: 3 };
    const { questions, error } = await compareWorkspace(context, request, () => undefined);
    const differing = questions.filter(({ verdict }) => verdict === 'differs');
    found[name] = {
      error,
      differs: differing.length > 0,
      conventions: [...new Set(differing.map(({ convention }) => String(convention)))].sort(),
    };
  }
  const expected = plantedConventions.map(({ name, conventions }) => [
    name,
    { error: null, differs: true, conventions },
  ]);
  expect(found).toEqual(Object.fromEntries(expected));
});
