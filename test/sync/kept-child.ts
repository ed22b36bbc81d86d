import { declarations } from '../../schemas/catalogue.ts';
import { createBudget } from '../../src/budget/budget.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openRecorder } from '../../src/sync/recorder.ts';
import { runSync } from '../../src/sync/run-sync.ts';
import { createClient } from '../../src/upstream/client.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { hurriedClock } from '../support/clocks.ts';

// A sync that archives raw pages, in a process that a test can kill.
const [path = '', folder = '', baseUrl = '', key = '', nowMs = '0'] = process.argv.slice(3);
const catalogue = createCatalogue(declarations);
const opened = await openWarehouse(path, catalogue, {});
process.send?.('open');
const clock = hurriedClock(() => Number(nowMs));
const raw = { folder, limits: { days: 30, megabytes: 2000 } };
const records = await openRecorder({ catalogue, warehouse: opened, clock, raw });
const budget = createBudget({ clock });
const client = createClient({ baseUrl, key, keyHeader: 'authorization', budget, clock, connections: 8 });
const { signal } = new AbortController();
const parts = { catalogue, warehouse: records.warehouse, client, clock, connections: 8, signal };
const { status } = await runSync(parts, { only: null, range: null, brands: null });
await records.close();
await client.close();
await opened.close();
process.send?.(status);
process.exit();
