// Runs a TypeScript file in its own process: `node run-typescript.mjs file.ts arguments`.
import { register } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

register('./typescript-hooks.mjs', import.meta.url);
await import(pathToFileURL(resolve(process.argv[2])));
