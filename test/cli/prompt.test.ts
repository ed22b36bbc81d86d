import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openPrompt } from '../../src/cli/output/prompt.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';

test('a yes-or-no question is asked again after an answer that is neither', async () => {
  const [stdin, stderr] = [new PassThrough(), new PassThrough()];
  let shown = '';
  stderr.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  await withTerminal({ stdin, stderr }, async () => {
    const prompt = openPrompt(new AbortController().signal);
    stdin.write('clear; sightline plan\nno\n\nYES\n');
    expect(await prompt.askWhether('Sync now?', true)).toBe(false);
    expect(await prompt.askWhether('Sync now?', true)).toBe(true);
    expect(await prompt.askWhether('Sync now?', false)).toBe(true);
    prompt.close();
  });
  expect(shown.match(/Sync now\?/g)).toHaveLength(4);
  expect(shown.match(/Answer y or n\./g)).toHaveLength(1);
});
