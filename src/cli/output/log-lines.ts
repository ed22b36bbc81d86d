import { Writable } from 'node:stream';

/** A stream that calls `take` with each complete line. Empty lines and an unterminated rest, such as progress, are dropped. */
export function logOf(take: (line: string) => void): Writable {
  let rest = '';
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const lines = `${rest}${chunk.toString()}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') take(line);
      done();
    },
  });
}
