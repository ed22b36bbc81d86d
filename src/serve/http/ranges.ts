/** Bytes of a file, both ends included, counted from 0. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The one range that a Range header asks for, of a file of `bytes` (RFC 9110, 14.1); null where the whole is to be sent: no
 * header, another unit, something that is no range, or several ranges, which a server may answer with the whole.
 */
export function rangeOf(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return null;
    const length = Math.min(Number(last), bytes);
    return length === 0 ? 'unsatisfiable' : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= bytes) return 'unsatisfiable';
  return { start, end: last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) };
}
