import { defineJob } from '../src/jobs/job.ts';

/** Syncs, verifies and exports every workspace each night. */
export const nightly = defineJob({
  name: 'nightly',
  position: 10,
  about: 'Syncs changed data, verifies them, publishes a snapshot and deletes old snapshots by the `keep` setting.',
  cron: '15 2 * * *',
  steps: [
    // A failed sync leaves nothing new to verify or export; the published snapshot remains.
    { do: 'sync', onFailure: 'stop' },
    { do: 'verify', onFailure: 'go on' },
    { do: 'export' },
  ],
});
