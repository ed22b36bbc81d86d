import { declarations } from '../../schemas/catalogue.ts';
import { createBudget } from '../../src/budget/budget.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { runSync } from '../../src/sync/run-sync.ts';
import { createClient } from '../../src/upstream/client.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { hurriedClock } from './clocks.ts';

// Runs a sync in a process that a test can kill. Without a base URL, only keeps the warehouse open.
const [path = '', baseUrl = '', key = '', nowMs = '0'] = process.argv.slice(3);
const catalogue = createCatalogue(declarations);
const warehouse = await openWarehouse(path, catalogue, {});
process.send?.('open');
if (baseUrl === '') setInterval(() => undefined, 1000);
else {
  const clock = hurriedClock(() => Number(nowMs));
  const budget = createBudget({ clock });
  const client = createClient({ baseUrl, key, keyHeader: 'authorization', budget, clock, connections: 8 });
  const { signal } = new AbortController();
  const parts = { catalogue, warehouse, client, clock, connections: 8, signal };
  const { status } = await runSync(parts, { only: null, range: null, brands: null });
  await client.close();
  await warehouse.close();
  process.send?.(status);
  process.exit();
}
