import { setMaxListeners } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import { openBudgetAt } from '../../src/budget/open-budget.ts';
import { createClient } from '../../src/upstream/client.ts';

// Child process: sends a number of requests with each of many keys concurrently and reports when it is done.
const [home = '', baseUrl = '', keys = '', requests = '0'] = process.argv.slice(3);
const clock = systemClock;
const { signal } = new AbortController();
setMaxListeners(0, signal);
const say = (text: string): void => void process.send?.(`said ${text}`);
const useUp = async (key: string): Promise<void> => {
  const { budget, close } = await openBudgetAt(JSON.parse(home), { key, baseUrl, share: 1, clock, say });
  const client = createClient({ baseUrl, key, keyHeader: 'authorization', budget, clock, connections: 2 });
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < Number(requests)) {
      begun += 1;
      await client.get({ path: '/brands', query: {} }, (body) => body, { signal });
    }
  };
  await Promise.all([lane(), lane()]);
  await client.close();
  await close();
};
await Promise.all(keys.split(',').map(useUp));
process.send?.('done');
process.exit();
