const MINUTE_MS = 60_000;
/** Farther than any zone's clock is from UTC, with a change of it between. */
const PROBE_MS = 36 * 3_600_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether there is a time zone of that name. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return name !== '';
  } catch {
    return false;
  }
}

/** How far a zone's clocks are ahead of UTC at a moment, in milliseconds; whole minutes. */
export function offsetAt(timeZone: string, atMs: number): number {
  const minute = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  if (timeZone === 'UTC') return 0;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(minute)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minutes) - minute;
}

/**
 * The moments at which a zone's clocks show a time, which is given as if it were UTC: one, two where clocks are set back,
 * or, where they skip it, the one at which they would have shown it had they not been set.
 */
export function momentsOf(timeZone: string, wallMs: number): { moments: number[]; isSkipped: boolean } {
  const before = offsetAt(timeZone, wallMs - PROBE_MS);
  const after = offsetAt(timeZone, wallMs + PROBE_MS);
  const candidates = before === after ? [wallMs - before] : [wallMs - before, wallMs - after];
  const moments = candidates.filter((at) => offsetAt(timeZone, at) === wallMs - at).sort((a, b) => a - b);
  return moments.length > 0 ? { moments, isSkipped: false } : { moments: [wallMs - before], isSkipped: true };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  formats.set(timeZone, format);
  return format;
}
