import { startPostgres } from './support/postgres.ts';
import { openBudgetAt } from '../src/upstream/budget-open.ts';
import { systemClock } from '../src/base/clock.ts';
import { setMaxListeners } from 'node:events';
const postgres = await startPostgres();
if (typeof postgres === 'string') throw new Error(postgres);
const N = 300;
const said: string[] = [];
const t0 = Date.now();
const opened = await Promise.all(Array.from({ length: N }, (_, i) => openBudgetAt({ kind: 'postgres', url: postgres.url(), urlVariable: 'DB' }, { key: 'k' + i, baseUrl: 'x', share: 1, clock: systemClock, say: (s) => void said.push(s) })));
console.log('opened', Date.now() - t0);
const stop = new AbortController(); setMaxListeners(0, stop.signal);
const counts = Array(N).fill(0); const errors: string[] = []; const waits: number[] = [];
opened.forEach(({ budget }, i) => { for (let l = 0; l < 4; l++) (async () => {
  for (;;) { const s = await budget.acquire(stop.signal); waits.push(s.waitedMs); await new Promise((r) => setTimeout(r, 100)); s.answered({ limit: 120, remaining: null }); counts[i]++; }
})().catch((e) => { if (!stop.signal.aborted) errors.push(e.message); }); });
for (let s = 0; s < 4; s++) { await new Promise((r) => setTimeout(r, 10_000)); console.log(s, 'sum', counts.reduce((a, b) => a + b, 0), 'min', Math.min(...counts), 'max', Math.max(...counts), process.cpuUsage().user / 1e6, (await postgres.run('SELECT count(*) FROM pg_stat_activity')).rows[0]); }
stop.abort(); console.log(errors.slice(0, 3), errors.length, said);
const t1 = Date.now(); for (const { close } of opened) await close(); console.log('closed', Date.now() - t1, process.getActiveResourcesInfo());
await postgres.close(); process.exit(0);
