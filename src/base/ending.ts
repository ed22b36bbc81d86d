import { type ErrorCode, EXIT, errorTable, type SightlineError } from './errors.ts';

/** Statuses of an ended operation, the most severe first. */
export const STATUSES_WORST_FIRST = ['interrupted', 'failed', 'locked', 'partial', 'done'] as const;

export type EndStatus = (typeof STATUSES_WORST_FIRST)[number];

/** How an operation ended. */
export interface Ending {
  readonly status: EndStatus;
  /** Code of the error that ended it; null if no error of the error table did. */
  readonly code: ErrorCode | null;
  /** The reason in one sentence, without the next step; null if the operation is done or its result is the reason. */
  readonly error: string | null;
}

export const DONE: Ending = { status: 'done', code: null, error: null };

/** The ending of an operation that an error ended. */
export function endingOfError({ code, message, exit }: SightlineError): Ending {
  const status = exit === EXIT.interrupted ? 'interrupted' : exit === EXIT.locked ? 'locked' : 'failed';
  return { status, code, error: message };
}

/** The exit code of the command line for an ending. */
export function exitCodeOf({ status, code }: Pick<Ending, 'status' | 'code'>): number {
  return status === 'failed' && code !== null ? errorTable[code].exit : EXIT[status];
}

/** Returns the most severe of several exit codes; undefined if there are none. */
export function worstExitCode(codes: readonly number[]): number | undefined {
  return EXITS_WORST_FIRST.find((exitCode) => codes.includes(exitCode));
}

const EXITS_WORST_FIRST = [EXIT.interrupted, EXIT.failed, EXIT.usage, EXIT.locked, EXIT.partial, EXIT.done];
