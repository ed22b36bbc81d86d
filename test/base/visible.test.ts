import { expect, test } from 'vitest';
import { visible, visibleLine } from '../../src/base/visible.ts';

test('control characters and direction overrides become escapes, and other text is unchanged', () => {
  expect(visible('\u001b]0;title\u0007 \u009b2J \u007f \u0000 \rover \u202egnp\u202c \u2066x\u2069')).toBe(
    '\\u001b]0;title\\u0007 \\u009b2J \\u007f \\u0000 \\u000dover \\u202egnp\\u202c \\u2066x\\u2069',
  );
  // Right-to-left marks, emoji joiners and CRLF are kept.
  const plain = 'a\tb\nc\r\n שלום\u200f 👩\u200d👩 é';
  expect(visible(plain)).toBe(plain);
  expect(visibleLine('one\r\ntwo\tthree\u001b')).toBe('one two three\\u001b');
});

test('escaped JSON parses to the same value', () => {
  const value = { text: '\u001b[31m \u009b \u007f \u202e' };
  expect(JSON.parse(visible(JSON.stringify(value)))).toEqual(value);
});
