import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { SHIFT } from './support/shifted.ts';
import { takeTimes } from './support/work-times.ts';

if (process.env['TEST_CLOCK'] !== undefined) await import(SHIFT);

// Property tests draw other cases for each commit, and the same ones whenever a commit is tested.
const seed = Number(process.env['PROPERTY_SEED']);
if (!Number.isInteger(seed))
  throw new RangeError(`PROPERTY_SEED is ${process.env['PROPERTY_SEED']}; allowed: an integer`);
fc.configureGlobal({ seed });

const cpuBefore = cpuSeconds();

// The peak since the worker started, which may have run other files. `maxRSS` is in kB.
// oxlint-disable-next-line no-empty-pattern -- the runner rejects a first parameter that is not an object pattern
afterAll(({}, suite) => {
  suite.meta.peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
  suite.meta.cpuS = cpuSeconds() - cpuBefore;
  suite.meta.work = takeTimes();
});

// Of this process and of its children that have ended: utime, stime, cutime and cstime of proc(5), in hundredths of a second.
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8').split(') ')[1] ?? '';
    return stat
      .split(' ')
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}
