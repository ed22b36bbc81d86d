import fc from 'fast-check';
import { afterAll } from 'vitest';
import { SHIFT } from './support/shifted.ts';

if (process.env['TEST_CLOCK'] !== undefined) await import(SHIFT);

// Property tests draw other cases for each commit, and the same ones whenever a commit is tested.
const seed = Number(process.env['PROPERTY_SEED']);
if (!Number.isInteger(seed))
  throw new RangeError(`PROPERTY_SEED is ${process.env['PROPERTY_SEED']}; allowed: an integer`);
fc.configureGlobal({ seed });

// The peak since the worker started, which may have run other files. `maxRSS` is in kB.
// biome-ignore lint/correctness/noEmptyPattern: the runner rejects a first parameter that is not an object pattern
afterAll(({}, suite) => {
  suite.meta.peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
});
