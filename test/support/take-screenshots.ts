// `npm run screenshots`: writes the images of README.md and docs/pages.md from the pages of `sightline demo`.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './browser.ts';
import { ROOT } from './root.ts';

const images = fileURLToPath(new URL('docs/images', ROOT));

/** Pages by the name of the image. */
const SHOWN = { overview: '/', prompts: '/prompts', competitors: '/competitors' } as const;

const SETTLED = `new Promise((resolve) => {
  const check = () => document.querySelector('h1') !== null && document.querySelector('[aria-busy=true], .skeleton') === null
    ? requestAnimationFrame(resolve) : requestAnimationFrame(check);
  check();
})`;

const folder = await mkdtemp(join(tmpdir(), 'sightline-screenshots-'));
const cli = fileURLToPath(new URL('dist/src/cli/main.js', ROOT));
const demo = spawn(process.execPath, [cli, 'demo', '--serve', '--port', '0', '--data-dir', folder]);
const browser = await launchBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1040, height: 650 }, colorScheme: 'light', locale: 'en-US' });
  const link = await signInLink(demo);
  await page.goto(link);
  await page.waitForURL((url) => url.pathname === '/');
  await mkdir(images, { recursive: true });
  for (const [name, path] of Object.entries(SHOWN)) {
    await page.goto(new URL(path, link).href);
    await page.evaluate(SETTLED);
    await page.screenshot({ path: join(images, `${name}.png`) });
  }
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await new Promise((resolve) => demo.once('exit', resolve));
  await rm(folder, { recursive: true, force: true });
}
process.exit();

async function signInLink({ stderr, exitCode }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error('the demo has no output');
  for await (const line of createInterface({ input: stderr })) {
    const [url] = /https?:\S+\/sign-in\S*/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`the demo ended without a link (exit ${exitCode})`);
}
