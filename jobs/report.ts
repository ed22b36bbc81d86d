import { defineJob } from '../src/scheduler/job.ts';

/** Writes the reports on Monday morning, and sends what happened. */
export const report = defineJob({
  name: 'report',
  position: 40,
  about: "Rewrites each brand's report, and sends what happened to it to the webhooks.",
  cron: '0 6 * * 1',
  steps: [{ do: 'report', onFailure: 'go on' }, { do: 'brief' }],
});
