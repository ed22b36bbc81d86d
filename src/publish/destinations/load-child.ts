// Loads one replica into one destination, or works on the home of one workspace, in a process of its own. The process has no API key and no
// environment. It can be killed at any time: the destination then has the data from before. Its parent is run-child.ts.
import { workOn } from './child-work.ts';
import type { HomeRequest } from './home-protocol.ts';
import type { ChildReply, LoadRequest } from './load-protocol.ts';

process.once('message', (request: LoadRequest | HomeRequest) => {
  // A process without a parent ends, and changes nothing.
  const end = (): boolean => process.kill(process.pid, 'SIGKILL');
  process.on('disconnect', end);
  void workOn(request, send).then(() => {
    process.off('disconnect', end);
    process.disconnect();
  });
});
// Ctrl-C in a terminal reaches this process too; the parent handles it.
process.on('SIGINT', () => undefined);

function send(reply: ChildReply): Promise<void> {
  return new Promise((resolve) => process.send?.(reply, () => resolve()));
}
