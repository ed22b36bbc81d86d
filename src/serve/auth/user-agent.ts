/** Length to which unknown clients are shortened. */
const AGENT_CHARACTERS_MAX = 40;
/** The first that matches counts: Edge also names Chrome, and Chrome names Safari. */
const BROWSERS = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?Chrom(e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** Returns the browser and the system that a User-Agent header names, such as "Firefox on Linux". */
export function shortAgent(userAgent: string): string {
  const nameIn = (names: readonly (readonly [pattern: RegExp, name: string])[]): string | null =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;
  const browser = nameIn(BROWSERS);
  const system = nameIn(SYSTEMS);
  if (browser === null) return userAgent.slice(0, AGENT_CHARACTERS_MAX);
  return system === null ? browser : `${browser} on ${system}`;
}
