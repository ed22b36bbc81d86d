import { Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
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
  await withTerminal({ stderr: screen.stream, variables: {} }, async () => {
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
  await withTerminal({ stderr: screen.stream, variables: {} }, async () => {
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

test('progress leaves the cursor of the terminal alone', async () => {
  const screen = createScreen();
  const own = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
  Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    write.mockRestore();
    Object.defineProperty(process.stderr, 'isTTY', own ?? { value: undefined, configurable: true });
  });
  await withTerminal({ stderr: screen.stream, variables: {} }, async () => {
    const progress = createProgress(new AbortController().signal, toText);
    progress.update(1);
    progress.done();
  });
  expect(write).not.toHaveBeenCalled();
});

test('progress is not shown on a dumb terminal, which would print its escapes', async () => {
  const screen = createScreen();
  await withTerminal({ stderr: screen.stream, variables: { TERM: 'dumb' } }, async () => {
    const progress = createProgress(new AbortController().signal, toText);
    progress.update(1);
    progress.done();
  });
  expect(screen.text()).toBe('');
});

test.each([1, 5, 20, 500])(
  'progress with wide characters disappears from a terminal of %i columns',
  async (columns) => {
    const screen = createScreen();
    await withTerminal({ stderr: Object.assign(screen.stream, { columns, rows: 1_000 }), variables: {} }, async () => {
      const progress = createProgress(new AbortController().signal, (name: string) => `${name}\n1 of 9`);
      progress.update('日本語👩‍👩‍👧'.repeat(10));
      expect(screen.text()).toContain('日');
      progress.done();
    });
    expect(screen.text().trim()).toBe('');
  },
);
