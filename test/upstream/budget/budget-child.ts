import { openBudgetAt } from '../../../src/upstream/budget/open-budget.ts';
import { createClient } from '../../../src/upstream/client.ts';
import { hastyClock } from './budget-clock.ts';

// Child process: sends a number of identical requests, some concurrently, on a shared budget.
const [home = '', baseUrl = '', key = '', requests = '0', connections = '1'] = process.argv.slice(3);
// The storage of the budget is passed as JSON.
const { budget, close } = await openBudgetAt(JSON.parse(home), { key, share: 1, clock: hastyClock });
const options = { baseUrl, key, keyHeader: 'authorization', budget, clock: hastyClock } as const;
const client = createClient({ ...options, connections: Number(connections) });
const { signal } = new AbortController();
let begun = 0;
const lane = async (): Promise<void> => {
  while (begun < Number(requests)) {
    begun += 1;
    // After a 429, holds are full, which is safe for all latencies. Shortened holds assume that latencies vary by less than a minute,
    // which is 600 ms of this clock.
    budget.closeGate(0);
    await client.get({ path: '/brands', query: {} }, (body) => body, { signal });
    process.send?.('answered');
  }
};
process.send?.('begun');
await Promise.all(Array.from({ length: Number(connections) }, lane));
await client.close();
await close();
process.send?.('done');
process.exit();
