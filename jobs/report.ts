import { defineJob } from '../src/jobs/job.ts';

/** Writes the reports and sends the briefs on Monday morning. */
export const report = defineJob({
  name: 'report',
  position: 40,
  about: "Rewrites each brand's report, and sends a brief of each brand to the webhooks.",
  cron: '0 6 * * 1',
  steps: [{ do: 'report', onFailure: 'go on' }, { do: 'brief' }],
});
