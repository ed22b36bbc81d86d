import { defineJob } from '../src/jobs/job.ts';

/** Syncs the data that change within a day, with a request limit that leaves most of the budget to other work. */
export const hourly = defineJob({
  name: 'hourly',
  position: 20,
  about: 'Syncs data that change within a day: new responses, alerts, threads, articles and credits.',
  cron: '45 * * * *',
  steps: [
    {
      do: 'sync',
      only: ['responses', 'alerts', 'forum_opportunities', 'articles', 'credits'],
      allowance: { maxRequests: 240, maxMinutes: 20 },
    },
  ],
  // The next hourly run reads the data of a missed run.
  catchUp: false,
});
