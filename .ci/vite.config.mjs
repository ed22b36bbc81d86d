// Builds the data pages from src/web/app. `npx vite --config .ci/vite.config.mjs` serves them while they are changed, with the data
// of a running `sightline serve`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const server = 'http://127.0.0.1:4000';

/** Packages mark modules for a framework that is not used here; the report contains a module that pages load later. */
const QUIET = ['MODULE_LEVEL_DIRECTIVE', 'INEFFECTIVE_DYNAMIC_IMPORT'];

/** Keeps only the icons that `icon.tsx` names; the package has 1,700 in one object. */
const usedIcons = {
  name: 'used-icons',
  enforce: 'pre',
  transform: {
    filter: { id: /lucide\/icons\.json$/ },
    handler: (text) => {
      const used = readFileSync(join(root, 'src/web/app/components/icon.tsx'), 'utf8');
      const icons = Object.entries(JSON.parse(text).icons).filter(([name]) => used.includes(`'${name}'`));
      return JSON.stringify({ icons: Object.fromEntries(icons) });
    },
  },
};

export default {
  root: join(root, 'src/web/app'),
  base: '/',
  build: {
    outDir: join(root, 'dist/src/web/app'),
    emptyOutDir: true,
    // The content security policy permits no data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The test of the size of the first page reads the imports of each chunk from it.
    manifest: 'manifest.json',
    target: 'es2022',
    reportCompressedSize: false,
    rolldownOptions: {
      onLog: (level, log, report) => !QUIET.includes(log.code) && report(level, log),
    },
  },
  plugins: [usedIcons],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: Object.fromEntries(['/data', '/status', '/v1', '/reports'].map((path) => [path, server])) },
};
