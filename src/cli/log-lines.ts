import { Writable } from 'node:stream';

/** A stream that gives words for people line by line, for a log; how progress was drawn is no line of it. */
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
