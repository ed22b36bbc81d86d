import { defineJob } from '../src/scheduler/job.ts';

/** What every workspace wants each night. */
export const nightly = defineJob({
  name: 'nightly',
  about: 'Reads what has changed, recounts it, and publishes a snapshot; older snapshots go as the settings say.',
  cron: '15 2 * * *',
  steps: [
    // Without upstream there is nothing new to recount; what was published stands.
    { do: 'sync', onFailure: 'stop' },
    { do: 'verify', onFailure: 'go on' },
    { do: 'export' },
  ],
});
