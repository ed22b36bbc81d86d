import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { type ErrorCode, errorTable, toSightlineError } from '../../base/errors.ts';

/** Codes of errors that another request avoids. */
const OF_CALLER: readonly ErrorCode[] = ['invalid_parameter', 'forbidden', 'not_found'];

/** Returns an error as a protocol error. Messages of internal errors are not sent to clients. */
export function toProtocolError(thrown: unknown, signal: AbortSignal, onError?: (error: Error) => void): Error {
  if (signal.aborted || thrown instanceof ProtocolError) return thrown as Error;
  const error = toSightlineError(thrown);
  if (error.code === 'internal') {
    onError?.(error);
    return new ProtocolError(ProtocolErrorCode.InternalError, 'internal error');
  }
  const isOfCaller = OF_CALLER.includes(error.code);
  // The hints of the error table are for operators, and mean other cases of the code.
  const hint = error.hint === errorTable[error.code].hint ? '' : error.hint;
  const message = hint === '' ? error.message : `${error.message}. ${hint}`;
  return new ProtocolError(isOfCaller ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message);
}
