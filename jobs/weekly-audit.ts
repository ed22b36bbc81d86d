import { defineJob } from '../src/scheduler/job.ts';

/** What is too dear for every night. */
export const weeklyAudit = defineJob({
  name: 'weekly-audit',
  about:
    'Walks whole lists, looks again at older days in rotation, compacts the warehouse file and checks its integrity.',
  cron: '30 3 * * 0',
  steps: [
    // Items of these change in place, and a list that is not walked to its end does not show which are gone.
    {
      do: 'sync',
      only: ['alerts', 'forum_opportunities'],
      full: true,
      allowance: { maxMinutes: 30 },
      onFailure: 'go on',
    },
    // What is left of an allowance goes into days that nothing speaks against, those first that were not seen for longest.
    { do: 'sync', allowance: { maxRequests: 6000, maxMinutes: 90 }, onFailure: 'go on' },
    { do: 'verify', onFailure: 'go on' },
    { do: 'compact', onFailure: 'go on' },
    { do: 'check' },
  ],
});
