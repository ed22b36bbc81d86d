const MINUTE_MS = 60_000;
/** Larger than any zone's offset from UTC plus a clock change. */
const PROBE_MS = 36 * 3_600_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Reports whether a name is a known time zone. */
export function isTimeZone(name: string): boolean {
  try {
    // UTC needs no data of `Intl`.
    if (name !== 'UTC') formatOf(name);
    return name !== '';
  } catch {
    return false;
  }
}

/** Returns a zone's offset from UTC at a moment, in milliseconds; whole minutes. */
export function offsetAt(timeZone: string, atMs: number): number {
  const minute = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  if (timeZone === 'UTC') return 0;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(minute)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minutes) - minute;
}

/**
 * Returns the moments at which a zone's clocks show a local time, which is given as if it were UTC. There are two if
 * clocks are set back over it. If clocks skip it, `isSkipped` is true and the moment is the one without the change.
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
