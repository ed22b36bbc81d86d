import { expect, onTestFinished, test } from 'vitest';
import { startCli, until } from '../cli/helpers.ts';
import { NOW_MS } from '../support/clocks.ts';
import { countOf } from '../support/counts.ts';
import { expectStored, openGenericMirror } from './generic-mirror.ts';
import { shapes } from './shapes.ts';
import { startUpstream } from './upstream.ts';

const KILLS = countOf(1, 15);
/** Lists whose tables change while they are read: columns of other kinds, keys that repeat, no schema. */
const PATHS = ['measurements', 'shifts', 'campaigns', 'surveys', 'webhooks'];
const used = shapes.filter(({ path }) => PATHS.some((name) => path === `/brands/{brandId}/${name}`));

test('kill -9 while tables of undeclared endpoints change: the next sync completes them', async () => {
  const upstream = await startUpstream({ shapes: used, nowMs: NOW_MS });
  onTestFinished(() => upstream.close());
  const mirror = await openGenericMirror(upstream, NOW_MS, { clock: 'upstream' });
  onTestFinished(() => mirror.close());
  const { folder, environment } = mirror;
  const sync = () => startCli(['sync', '--json'], { cwd: folder, env: environment });
  for (let killed = 0; killed < KILLS; killed += 1) {
    const before = upstream.requests.length;
    // Later processes live longer, so that each is killed at another change.
    const life = 8 + 5 * killed;
    const { process: child, finished } = sync();
    const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await until(`${life} requests are sent`, () => hasEnded() || upstream.requests.length - before >= life);
    child.kill('SIGKILL');
    await finished;
  }
  expect(await mirror.sync()).toMatchObject({ status: 'complete', failures: [] });
  await expectStored(mirror, upstream, used);
});
