import { SightlineError } from './errors.ts';

const DAY_MS = 86_400_000;

/** The parts of a time that a template may contain, as in strftime(3). */
const PARTS: Readonly<Record<string, (at: Date) => string>> = {
  Y: (at) => String(at.getUTCFullYear()).padStart(4, '0'),
  m: (at) => two(at.getUTCMonth() + 1),
  d: (at) => two(at.getUTCDate()),
  H: (at) => two(at.getUTCHours()),
  M: (at) => two(at.getUTCMinutes()),
  S: (at) => two(at.getUTCSeconds()),
  j: (at) => String(dayOfYear(at)).padStart(3, '0'),
  G: (at) => String(thursdayOf(at).getUTCFullYear()).padStart(4, '0'),
  V: (at) => two(Math.ceil(dayOfYear(thursdayOf(at)) / 7)),
  '%': () => '%',
};

/**
 * Replaces the parts of a time in a template, such as `out/%Y-%m-%d`, in UTC. `name` is the name of the template in errors.
 *
 * @throws `usage` for an unknown part
 * @example expandDates('--output', 'out/%Y-%m-%d', Date.parse('2026-11-22T14:02:00Z')) === 'out/2026-11-22'
 */
export function expandDates(name: string, template: string, nowMs: number): string {
  const at = new Date(nowMs);
  return template.replaceAll(/%(.?)/gsu, (found, letter: string) => {
    const part = Object.hasOwn(PARTS, letter) ? PARTS[letter] : undefined;
    if (part !== undefined) return part(at);
    const allowed = Object.keys(PARTS).map((one) => `%${one}`);
    throw new SightlineError(
      'usage',
      `${name} ${JSON.stringify(template)} contains ${JSON.stringify(found)}; allowed: ${allowed.join(', ')}`,
    );
  });
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function dayOfYear(at: Date): number {
  return Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear(), 0, 1)) / DAY_MS) + 1;
}

// An ISO week belongs to the year of its Thursday.
function thursdayOf(at: Date): Date {
  const sinceMonday = (at.getUTCDay() + 6) % 7;
  return new Date(at.getTime() + (3 - sinceMonday) * DAY_MS);
}
