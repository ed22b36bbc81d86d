import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { say } from '../../src/cli/output/output.ts';
import { createProgress } from '../../src/cli/output/progress-line.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';

const ESCAPE = '\u001b';

/** A terminal that understands the escapes that erase lines and move the cursor up or to the left edge. */
function createScreen() {
  const lines = [''];
  let row = 0;
  const show = (text: string): void => {
    const [plain = '', ...escaped] = text.split(ESCAPE);
    print(plain);
    for (const part of escaped) {
      const [found = '', code = ''] = /^\[(\?\d+[hl]|\d*[A-Z])/.exec(part) ?? [];
      if (code === '2K') lines[row] = '';
      else if (code.endsWith('A')) row -= Number(code.slice(0, -1) || 1);
      print(part.slice(found.length));
    }
  };
  const print = (text: string): void => {
    for (const character of text) {
      if (character === '\n') lines[++row] ??= '';
      else lines[row] += character;
    }
  };
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      show(text);
      done();
    },
  });
  return { show, stream: Object.assign(stream, { isTTY: true, columns: 80, rows: 24 }), text: () => lines.join('\n') };
}

const toText = (done: number): string => `${done} of 9\nread`;

test('progress disappears when the result is shown', async () => {
  const screen = createScreen();
  await withTerminal({ stderr: screen.stream }, async () => {
    const progress = createProgress(new AbortController().signal, toText);
    progress.update(1);
    expect(screen.text()).toBe('1 of 9\nread\n');
    progress.done();
    say('9 pages were read');
  });
  expect(screen.text().trim()).toBe('9 pages were read');
});

test('progress disappears when the command is interrupted, and does not come back', async () => {
  const screen = createScreen();
  await withTerminal({ stderr: screen.stream }, async () => {
    const stop = new AbortController();
    const progress = createProgress(stop.signal, toText);
    progress.update(1);
    // The echo of the key.
    screen.show('^C');
    stop.abort();
    say('Stopping');
    progress.update(2);
    progress.done();
  });
  expect(screen.text().trim()).toBe('Stopping');
});
