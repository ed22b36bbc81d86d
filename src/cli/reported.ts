import { type SightlineError, toSightlineError } from '../base/errors.ts';
import { terminal } from './terminal.ts';

/** The error as a command reports it: that of a damaged file names the command that mends it. */
export async function toReported(thrown: unknown): Promise<SightlineError> {
  const error = toSightlineError(thrown);
  if (error.code !== 'warehouse_invalid') return error;
  return (await import('../app/damage.ts')).withRemedy(error, terminal().folder);
}
