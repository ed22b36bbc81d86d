import { defineJob } from '../src/scheduler/job.ts';

/** The page that is on the desk when the week begins. */
export const report = defineJob({
  name: 'report',
  about: "Writes each brand's report anew.",
  cron: '0 6 * * 1',
  steps: [{ do: 'report' }],
});
