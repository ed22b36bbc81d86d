import { createBudget } from '../../src/upstream/budget.ts';
import { openBudgetFile } from '../../src/upstream/budget-file.ts';
import { createClient } from '../../src/upstream/client.ts';
import { hastyClock } from './budget-clock.ts';

// Asks upstream for the same thing a number of times, some at once, on the budget that it shares with others.
const [folder = '', baseUrl = '', key = '', requests = '0', connections = '1'] = process.argv.slice(3);
const log = await openBudgetFile({ folder, key, baseUrl, clock: hastyClock });
const budget = createBudget({ clock: hastyClock, log });
const options = { baseUrl, key, keyHeader: 'authorization', budget, clock: hastyClock } as const;
const client = createClient({ ...options, connections: Number(connections) });
const { signal } = new AbortController();
let begun = 0;
const lane = async (): Promise<void> => {
  while (begun < Number(requests)) {
    begun += 1;
    await client.get({ path: '/brands', query: {} }, (body) => body, { signal });
    process.send?.('answered');
  }
};
process.send?.('begun');
await Promise.all(Array.from({ length: Number(connections) }, lane));
await client.close();
log.close();
process.send?.('done');
process.exit();
