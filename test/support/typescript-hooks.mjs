// Hooks of Node's module loader that compile TypeScript files, for run-typescript.mjs.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';

export async function load(url, context, next) {
  if (!/^file:.*\.tsx?$/.test(url)) return next(url, context);
  const path = fileURLToPath(url);
  const { code } = await transformWithOxc(await readFile(path, 'utf8'), path);
  return { format: 'module', shortCircuit: true, source: code };
}
