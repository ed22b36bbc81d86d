import { describe, test } from 'vitest';

/** Begins the reason of a test that this machine cannot run. The report counts these tests by reason. */
export const NOT_TRIED = 'NOT TRIED: ';

/** `describe` for tests that need a piece of the machine; `missing` says why it is not there, or is null. */
export function describeWith(missing: string | null): (title: string, tests: () => void) => void {
  return missing === null ? describe : (title, tests) => describe.skip(`${title} [${NOT_TRIED}${missing}]`, tests);
}

/** `test` for a test that needs a piece of the machine; `missing` says why it is not there, or is null. */
export function testWith(missing: string | null): (title: string, work: () => Promise<void> | void) => void {
  return missing === null ? test : (title, work) => test.skip(`${title} [${NOT_TRIED}${missing}]`, work);
}
