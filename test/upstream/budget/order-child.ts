import { createHash } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';
import { openBudgetFile } from '../../../src/upstream/budget/file-store.ts';

// Child process: adds to a shared log with very short files and reports the order that it read.
const [folder = '', name = '', own = '0', all = '0'] = process.argv.slice(3);
const options = { folder, key: 'gsk_of_nobody', baseUrl: 'https://api.example.com/v1', fileBytesMax: 2_000 };
const log = await openBudgetFile({ ...options, clock: systemClock });
process.send?.('open');
await new Promise((resolve) => process.once('message', resolve));
const seen: string[] = [];
const readOn = (): void => {
  for (const { kind, id } of log.read()) if (kind === 'claim') seen.push(id);
};
for (let index = 0; index < Number(own); index++) {
  const moment = { monotonicMs: Math.floor(systemClock.monotonic()), wallMs: systemClock.now() };
  log.append({ kind: 'claim', id: `${name}-${index}`, value: 0, ...moment });
  readOn();
}
while (seen.length < Number(all)) {
  await systemClock.sleep(1);
  readOn();
}
log.close();
const digest = createHash('sha256').update(seen.join()).digest('hex');
process.send?.(`${seen.length} ${new Set(seen).size} ${digest}`);
process.exit();
