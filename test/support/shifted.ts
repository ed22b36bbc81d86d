import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Arguments and environment for a process of Node whose `Date` begins at `nowMs`, or is shifted like that of the tests if TEST_CLOCK is set.
 */
export function shiftedLikeTests(nowMs?: number): {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
} {
  const shift = nowMs === undefined ? process.env['TEST_SHIFT_MS'] : String(nowMs - Date.now());
  return shift === undefined ? { args: [], env: {} } : { args: ['--import', SHIFT], env: { TEST_SHIFT_MS: shift } };
}

/** URL of the module that shifts `Date`. */
export const SHIFT = pathToFileURL(join(import.meta.dirname, 'shifted-date.mjs')).href;
