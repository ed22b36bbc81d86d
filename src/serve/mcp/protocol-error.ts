import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { errorTable, toSightlineError } from '../../base/errors.ts';

/** Returns an error as a protocol error. Messages of internal errors are not sent to clients. */
export function toProtocolError(thrown: unknown, signal: AbortSignal, onError?: (error: Error) => void): Error {
  if (signal.aborted || thrown instanceof ProtocolError) return thrown as Error;
  const error = toSightlineError(thrown);
  if (error.code === 'internal') {
    onError?.(error);
    return new ProtocolError(ProtocolErrorCode.InternalError, 'internal error');
  }
  const isOfCaller = error.code === 'invalid_parameter' || error.code === 'forbidden';
  const message = isOfCaller ? error.message : `${error.message}. ${errorTable[error.code].hint}`;
  return new ProtocolError(isOfCaller ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message);
}
