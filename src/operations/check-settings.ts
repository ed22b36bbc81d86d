import type { WorkspaceConfig } from '../base/config/config.ts';
import { toOverrides } from '../metrics/calibration/overrides.ts';
import { jobsOf } from './jobs/job-list.ts';

/** Validates jobs and conventions for every command, so that a mistake is reported at once. Throws `config_invalid`. */
export function checked(config: WorkspaceConfig): WorkspaceConfig {
  toOverrides(config.conventions);
  jobsOf(config);
  return config;
}
