import { hourly } from './hourly.ts';
import { nightly } from './nightly.ts';
import { report } from './report.ts';
import { weeklyAudit } from './weekly-audit.ts';

/** The predefined jobs. */
export const declaredJobs = [nightly, hourly, weeklyAudit, report] as const;
