import { importSiblings } from '../src/base/files.ts';
import type { Job } from '../src/jobs/job.ts';

/** The jobs in this folder, in the order of lists. */
export const declaredJobs: readonly Job[] = await importSiblings(import.meta.url);
