// Publishes repeatedly, with every row changed each time: `publish-child.ts folder times`; 0 runs forever.
import { declarations } from '../../../schemas/catalogue.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { exportSnapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';

const [folder = '', times = '0'] = process.argv.slice(3);
const { tables, histories, ...others } = createCatalogue(declarations);
// Few tables, so that publishing takes most of the time.
const wanted = ['responses', 'alerts', 'prompts'];
const catalogue = { ...others, tables: tables.filter(({ name }) => wanted.includes(name)), histories: [] };
const layout = layoutOf(folder);
const warehouse = await openWarehouse(layout.warehouse, { ...others, tables, histories }, { threads: 1 });
const { database } = warehouse;
const run = (sql: string): Promise<number> => database.exclusive((session) => session.run(sql));

await run(`INSERT INTO responses (id, prompt, engine, created_at) SELECT uuid(), '0', 'engine ' || i, TIMESTAMP '2026-01-01'
  + INTERVAL (i) HOUR FROM range(2000) t(i) WHERE NOT EXISTS (SELECT 1 FROM responses)`);
await run(`INSERT INTO alerts (id, headline) SELECT uuid(), '0' WHERE NOT EXISTS (SELECT 1 FROM alerts)`);
const { signal } = new AbortController();
// So short that there is something to delete.
const keep = { daily: 1, weekly: 0, monthly: 0 };
for (let time = 0; time < Number(times) || times === '0'; time++) {
  await run(`UPDATE responses SET prompt = CAST(CAST(prompt AS BIGINT) + 1 AS VARCHAR)`);
  await run(`UPDATE alerts SET headline = (SELECT any_value(prompt) FROM responses)`);
  await publishAnalytics(database, layout.analytics);
  await exportSnapshot(database, catalogue, layout, { compression: 'snappy', keep, clock: systemClock, signal });
  process.send?.(String(time));
}
await warehouse.close();
process.exit(0);
