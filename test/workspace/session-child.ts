import type { Mode } from '../../src/workspace/driver.ts';
import { fileLock } from '../../src/workspace/lock-driver.ts';

// Takes the right to write to a workspace from the lock driver, reports that, and keeps it until the process is killed.
const [folder = '', mode = ''] = process.argv.slice(3);
await fileLock.acquire({
  folder,
  mode: mode as Mode,
  command: 'killed',
  description: 'killed',
  signal: new AbortController().signal,
  onWait: () => undefined,
});
process.send?.('entered');
setInterval(() => undefined, 60_000);
