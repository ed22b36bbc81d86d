// Builds the report from the components of the data pages, as one module for Node that contains its packages.
import { join } from 'node:path';
import pages from './vite.config.mjs';

export default {
  root: pages.root,
  build: {
    ssr: 'report/report-entry.ts',
    outDir: join(pages.root, '../../../dist/src/web/report-app'),
    emptyOutDir: true,
    target: 'node20',
    // The styles are for browsers.
    cssTarget: pages.build.target,
    minify: true,
    reportCompressedSize: false,
    rolldownOptions: { ...pages.build.rolldownOptions, output: { entryFileNames: 'report-app.js' } },
  },
  // Linkedom draws on a canvas only if this package is installed.
  resolve: { alias: { canvas: join(pages.root, '../../../node_modules/linkedom/commonjs/canvas-shim.cjs') } },
  ssr: { noExternal: true },
  plugins: pages.plugins,
  oxc: pages.oxc,
};
