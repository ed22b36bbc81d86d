// Runs a TypeScript file in its own process: `node run-typescript.mjs file.ts arguments`.
import { fileURLToPath } from 'node:url';
import { createViteServer } from 'vitest/node';

const server = await createViteServer({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, watch: null, ws: false },
  optimizeDeps: { noDiscovery: true },
});
await server.ssrLoadModule(process.argv[2]);
