import { defineJob } from '../src/jobs/job.ts';

/** Checks that need too many requests to run every night. */
export const weeklyAudit = defineJob({
  name: 'weekly-audit',
  position: 30,
  about:
    'Reads full lists, re-reads older days in rotation, compares responses with those of upstream, compacts the warehouse file and checks its integrity.',
  cron: '30 3 * * 0',
  steps: [
    // Items of these lists change in place, and only a full read shows which items were deleted.
    {
      do: 'sync',
      only: ['alerts', 'forum_opportunities'],
      full: true,
      allowance: { maxMinutes: 30 },
      onFailure: 'go on',
    },
    // Requests left of the allowance re-read days that need no sync, least recently read first.
    { do: 'sync', allowance: { maxRequests: 6000, maxMinutes: 90 }, onFailure: 'go on' },
    { do: 'verify', onFailure: 'go on' },
    // Asks upstream and the stored data the same questions; the result is in the status and on the page.
    { do: 'compare', requests: 200, onFailure: 'go on' },
    { do: 'compact', onFailure: 'go on' },
    { do: 'check' },
  ],
});
