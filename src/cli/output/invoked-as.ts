import { basename, relative } from 'node:path';
import { terminal } from './terminal.ts';

/**
 * The words that start this program again from the user's folder: `sightline` if it is installed as a command,
 * `node dist/src/cli/main.js` in a checkout, `node_modules/.bin/sightline` in a project. `npx` with the bare name of the command would
 * fetch an unrelated package.
 */
export function invokedAs(script = process.argv[1] ?? ''): string {
  const path = relative(terminal().folder, script);
  if (basename(script) === 'main.js') return `node ${quoted(path)}`;
  return /[/\\]\.bin[/\\]/.test(script) ? quoted(path) : 'sightline';
}

function quoted(path: string): string {
  return /^[\w/.:@\\-]+$/.test(path) ? path : JSON.stringify(path);
}
