import type { QueueAddress } from '../../src/base/config/runner-settings.ts';
import { openQueueRunner } from '../../src/jobs/queue/queue-runner.ts';

// Performs tasks of a queue, reports each start, keeps each task until it is aborted, and reports that.
const [address = '', name = ''] = process.argv.slice(3);
const runner = await openQueueRunner(JSON.parse(address) as QueueAddress);
await runner.work({
  name,
  concurrency: 2,
  signal: new AbortController().signal,
  perform: async (task, { signal }) => {
    process.send?.(`begun ${task.workspace} ${task.attempt}`);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    process.send?.(`lost ${task.workspace}`);
    return { kind: 'settled', status: 'done' };
  },
});
