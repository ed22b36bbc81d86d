import { type SightlineError, toSightlineError } from '../base/errors.ts';
import { terminal } from './output/terminal.ts';

/** Converts an error for reporting. Adds the repair command to the error of a damaged file. */
export async function toReported(thrown: unknown): Promise<SightlineError> {
  const error = toSightlineError(thrown);
  if (error.code !== 'warehouse_invalid') return error;
  return (await import('../operations/damage-remedy.ts')).withRemedy(error, terminal().folder);
}
