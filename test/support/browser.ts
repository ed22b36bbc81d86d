import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Paths of Chromium on Debian and other distributions. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of the browser for page tests, or undefined if none is installed. Skipped tests call `sayWithoutBrowser`. */
export const browserPath = PLACES.find((path) => existsSync(path));

/** Prints on stderr that a test was skipped because Chromium is missing. */
export function sayWithoutBrowser(what: string): void {
  process.stderr.write(`NOT TRIED: ${what}. Chromium not found at ${PLACES.join(', ')}.\n`);
}

/** Starts a headless browser. */
export function launchBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error(`Chromium not found at ${PLACES.join(', ')}`);
  // Chromium's sandbox does not start as root, which is the user in most containers.
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
}
