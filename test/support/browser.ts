import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian and others put Chromium. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser that pages are tried in, or undefined where there is none; whoever skips for it says so. */
export const browserPath = PLACES.find((path) => existsSync(path));

/** Says aloud that pages were not tried, and why. */
export function sayWithoutBrowser(what: string): void {
  process.stderr.write(`NOT TRIED: ${what}. There is no Chromium at ${PLACES.join(', ')}.\n`);
}

/** Starts the browser without a window. */
export function launchBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error('there is no browser');
  // As root, as in most containers, its sandbox does not start.
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
}
