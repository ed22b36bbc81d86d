import { describe, expect, it } from 'vitest';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { allowanceOf, allowanceOptions } from '../../src/cli/program/common-options.ts';

/** The deadline of `--until` for a command given at a time and in a time zone. */
async function deadline(until: string, timeZone: string, now: string): Promise<string> {
  const given = { maxRequests: null, maxMinutes: null, until: allowanceOptions.until.parse(until, '--until') };
  const { allowance } = await withTerminal({ timeZone }, async () => allowanceOf(given, Date.parse(now)));
  return new Date(allowance?.deadline ?? Number.NaN).toISOString();
}

describe('--until', () => {
  it.each([
    ['06:00', 'UTC', '2026-11-21T02:00:00Z', '2026-11-21T06:00:00.000Z'],
    ['06:00', 'UTC', '2026-11-21T06:00:00Z', '2026-11-22T06:00:00.000Z'],
    ['06:00', 'Europe/Berlin', '2026-11-21T02:00:00Z', '2026-11-21T05:00:00.000Z'],
    ['23:30', 'Asia/Kolkata', '2026-11-21T17:59:00Z', '2026-11-21T18:00:00.000Z'],
    ['06:00', 'America/New_York', '2026-11-21T22:00:00Z', '2026-11-22T11:00:00.000Z'],
    // Daylight saving time begins at 02:00 and ends at 03:00.
    ['02:30', 'Europe/Berlin', '2026-03-29T00:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['02:30', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'Europe/Berlin', '2026-10-25T00:45:00Z', '2026-10-25T01:30:00.000Z'],
  ])('%s in the time zone %s, given at %s, is %s', async (until, timeZone, now, expected) => {
    expect(await deadline(until, timeZone, now)).toBe(expected);
  });

  it.each(['24:00', '6:00', '06:60', 'noon', ''])('rejects %j', async (until) => {
    await expect(deadline(until, 'UTC', '2026-11-21T00:00:00Z')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('allowed: a time of day'),
    });
  });
});
