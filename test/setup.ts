import { afterAll } from 'vitest';
import { SHIFT } from './support/shifted.ts';

if (process.env['TEST_CLOCK'] !== undefined) await import(SHIFT);

// The peak since the worker started, which may have run other files. `maxRSS` is in kB.
// biome-ignore lint/correctness/noEmptyPattern: the runner rejects a first parameter that is not an object pattern
afterAll(({}, suite) => {
  suite.meta.peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
});
