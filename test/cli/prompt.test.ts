import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openPrompt } from '../../src/cli/output/prompt.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';

// readline edits no text on a dumb terminal.
beforeEach(() => void vi.stubEnv('TERM', 'xterm'));
afterEach(() => void vi.unstubAllEnvs());

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

test('a question stays when the typed text is edited, on a narrow terminal too', async () => {
  const [stdin, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { columns: 10 })];
  let shown = '';
  stderr.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  await withTerminal({ stdin, stderr }, async () => {
    const prompt = openPrompt(new AbortController().signal);
    const answer = prompt.ask('Name of the company');
    stdin.write('日本\u007f語\n');
    expect(await answer).toBe('日語');
    shown = shown.slice(shown.indexOf('日本'));
    // Backspace redraws both from the first of three rows.
    expect(shown).toContain('\u001b[2A\u001b[1G\u001b[0JName of the company: 日');
    prompt.close();
  });
});

test('text that was typed before a hidden question is not shown with it', async () => {
  const [stdin, stderr] = [new PassThrough(), new PassThrough()];
  await withTerminal({ stdin, stderr }, async () => {
    const prompt = openPrompt(new AbortController().signal);
    stdin.write('gk_live');
    await new Promise(setImmediate);
    stderr.read();
    const answer = prompt.askHidden('API key');
    stdin.write('_1\u007f2\n');
    expect(await answer).toBe('gk_live_2');
    expect(String(stderr.read())).toBe('API key (hidden): \n');
    prompt.close();
  });
});
