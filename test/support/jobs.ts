import { declaredJobs } from '../../jobs/all.ts';

/** Settings that disable every declared job. */
export const disabledJobs: Readonly<Record<string, { enabled: false }>> = Object.fromEntries(
  declaredJobs.map(({ name }) => [name, { enabled: false }] as const),
);
