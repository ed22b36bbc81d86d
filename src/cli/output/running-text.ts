import type { RunningSync } from '../../sync/progress-file.ts';
import { count, duration } from './output.ts';

/** Describes the progress of a running sync. */
export function runningText({ done, expected, secondsToGo }: RunningSync): string {
  if (expected === 0) return 'it has planned no requests yet';
  const left = secondsToGo === 0 ? '' : `, about ${duration(secondsToGo * 1_000)} left`;
  return `${count(done)} of about ${count(expected)} requests${left}`;
}
