import { describe, expect, test } from 'vitest';
import { agreeOnOffset, type ClockPolicy, createRunClock } from '../../../src/contract/plausibility/run-clock.ts';
import { virtualClock } from '../../support/clocks.ts';

const NOW = Date.parse('2026-03-15T15:30:00Z');
const HOUR = 3_600_000;
const YEAR_9999 = Date.parse('9999-12-31T23:59:59Z');

/** Creates a run clock from responses whose dates differ from our clock by these milliseconds; null means no date. */
async function agree(first: number | null, samples: readonly (number | null)[] = [], policy?: ClockPolicy) {
  const clock = createRunClock(virtualClock(NOW), policy);
  const left = [...samples];
  const dateOf = (offset: number | null) => (offset === null ? null : NOW + offset);
  let asked = 0;
  await clock.agree(dateOf(first), () => {
    asked += 1;
    return Promise.resolve(dateOf(left.shift() ?? null));
  });
  return { clock, asked, offset: clock.now() - NOW };
}

describe('the clock of a run', () => {
  test('follows a first response that agrees with this machine, without another request', async () => {
    expect(await agree(-90_000)).toMatchObject({ offset: -90_000, asked: 0 });
    expect((await agree(-90_000)).clock.difference()).toBeNull();
  });

  test('follows this machine if the response has no date', async () => {
    expect(await agree(null)).toMatchObject({ offset: 0, asked: 0 });
  });

  test('ignores the date of a first response that two others contradict', async () => {
    expect(await agree(YEAR_9999 - NOW, [1_000, 2_000])).toMatchObject({ offset: 1_000, asked: 2 });
  });

  test('follows upstream if all responses differ by the same hours, and reports the difference', async () => {
    const { clock, offset } = await agree(2 * HOUR, [2 * HOUR, 2 * HOUR + 1_000]);
    expect(offset).toBe(2 * HOUR);
    expect(clock.difference()).toBe(2 * HOUR);
  });

  test('follows this machine if no two responses agree or only the first has a date', async () => {
    expect((await agree(5 * HOUR, [-9 * HOUR, 20 * HOUR])).offset).toBe(0);
    expect((await agree(5 * HOUR, [null, null])).offset).toBe(0);
  });

  test('fails with clock_differs if all responses differ by more than 36 hours', async () => {
    const offset = 40 * HOUR;
    await expect(agree(offset, [offset, offset])).rejects.toMatchObject({
      code: 'clock_differs',
      message: expect.stringMatching(/2026-03-17 07:30 UTC, this machine's at 2026-03-15 15:30 UTC.*36 hours/),
    });
    await expect(agree(YEAR_9999 - NOW, [YEAR_9999 - NOW, YEAR_9999 - NOW])).rejects.toThrow('clock is at 9999-12-31');
  });

  test('follows upstream by years with the policy `upstream`, but not to the year 9999', async () => {
    const year = 365 * 24 * HOUR;
    expect((await agree(year, [year, year], 'upstream')).offset).toBe(year);
    const far = YEAR_9999 - NOW;
    await expect(agree(far, [far, far], 'upstream')).rejects.toMatchObject({ code: 'clock_differs' });
  });

  test('replaces a date that differs by more than five minutes and reports it', async () => {
    const { clock } = await agree(0);
    expect(clock.dateOf(NOW + 299_000)).toEqual({ date: NOW + 299_000, implausible: null });
    expect(clock.dateOf(null)).toEqual({ date: NOW, implausible: null });
    expect(clock.dateOf(NOW - 301_000)).toEqual({
      date: NOW,
      implausible: { path: 'header date', allowed: expect.any(String), value: 'Sun, 15 Mar 2026 15:24:59 GMT' },
    });
  });

  test('uses the median of the offsets on which most responses agree', () => {
    expect(agreeOnOffset([3_000, 1_000, 2_000])).toBe(2_000);
    expect(agreeOnOffset([YEAR_9999, 1_000, 2_000])).toBe(1_000);
    expect(agreeOnOffset([])).toBe(0);
  });
});
