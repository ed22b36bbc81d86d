import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { timed } from './work-times.ts';

/** Paths of Chromium on Debian and other distributions. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of the browser for page tests, or undefined if none is installed. */
export const browserPath = PLACES.find((path) => existsSync(path));

/** Why tests in a browser are not tried on this machine; null if they are. */
export const noBrowser = browserPath === undefined ? `Chromium is not at ${PLACES.join(', ')}` : null;

/** Longest wait for an element or an address, which only catches hangs. */
const WAIT_MS = 180_000;

/** The browser of this worker, which all of its test files share. */
const worker: { browser: Promise<Browser> | null } = { browser: null };

/** Returns the browser of this worker. It ends with the worker. */
export function sharedBrowser(): Promise<Browser> {
  worker.browser ??= launchBrowser();
  return worker.browser;
}

/** Opens a context, which has its own cookies and storage, until the test ends. */
export async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await (await sharedBrowser()).newContext(options);
  // A busy machine takes longer than the 30 s of the default.
  context.setDefaultTimeout(WAIT_MS);
  onTestFinished(() => context.close());
  return context;
}

/** Starts a headless browser. */
export function launchBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error(noBrowser ?? '');
  // Chromium's sandbox does not start as root, which is the user in most containers.
  return timed('browser started', () => chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] }));
}
