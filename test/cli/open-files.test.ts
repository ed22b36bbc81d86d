import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { sampleOf } from '../support/counts.ts';
import { MAIN } from '../support/run-command.ts';
import { makeFolder } from './helpers.ts';

// Fewer open files than the modules that a command loads at once.
test.each(sampleOf([['sync'], ['export'], ['serve', '--port', '0']], 1))(
  'with a limit of 40 open files, `sightline %s` names the limit',
  async (...args) => {
    const cwd = await makeFolder();
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    const env = {
      PATH: process.env['PATH'],
      SIGHTLINE_BASE_URL: 'http://127.0.0.1:1/v1',
      SIGHTLINE_API_KEY: 'gsk_a_test_0123',
    };
    const script = 'ulimit -n 40; exec "$0" "$@"';
    const child = spawn('sh', ['-c', script, process.execPath, MAIN, ...args], { cwd, env });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(said).toMatch(
      /^sightline: too many open files; `ulimit -n` allows 40\nRaise the limit with `ulimit -n 1024`/,
    );
    expect(code).toBe(1);
  },
);
