import { defineJob } from '../src/scheduler/job.ts';

/** What moves within the day, at a price that leaves nearly all of the budget to others. */
export const hourly = defineJob({
  name: 'hourly',
  about: 'Reads what moves within the day: new answers, alerts, threads, articles and credits.',
  cron: '45 * * * *',
  steps: [
    {
      do: 'sync',
      only: ['responses', 'alerts', 'forum_opportunities', 'articles', 'credits'],
      allowance: { maxRequests: 240, maxMinutes: 20 },
    },
  ],
  // What an hour has missed the next one reads.
  catchUp: false,
});
