import { defineJob } from '../src/scheduler/job.ts';

/** Writes the reports on Monday morning. */
export const report = defineJob({
  name: 'report',
  position: 40,
  about: "Rewrites each brand's report.",
  cron: '0 6 * * 1',
  steps: [{ do: 'report' }],
});
