import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.ts';
import type { Finished } from '../support/run-command.ts';
import { expectRefusal, makeFolder, runCli, serve } from './helpers.ts';

/** An API key. A distinctive value, so that it is found in any output. */
export const KEY = 'gsk_never_to_be_seen_0123456789';
const SIDE_BY_SIDE = 3;

/** A command with a wrong value. `PORT` in a text is a port that is in use. */
export interface BadInput {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string | null>>;
  readonly code: ErrorCode;
  /** The hint if it is not the one of the code. */
  readonly hint?: string;
  /** Texts that the message must contain: the value, its name, the allowed values. */
  readonly says: readonly string[];
  /** Texts besides the key that must not appear. */
  readonly hides?: readonly string[];
}

interface Result extends Finished {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Tests that each command is rejected with a message, a hint and an exit code, and leaves no files. */
export function testBadInput(cases: readonly BadInput[]): void {
  const results = new Map<string, Result>();
  let occupied: Awaited<ReturnType<typeof serve>>;
  const withPort = (text: string): string => text.replace('PORT', new URL(occupied.origin).port);

  beforeAll(async () => {
    occupied = await serve((_request, response) => response.end());
    const waiting = [...cases];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        results.set(next.name, await perform({ ...next, args: next.args.map(withPort) }));
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  });

  afterAll(() => occupied.close());

  describe('a wrong value is rejected with a message, a hint and an exit code, and no files are left', () => {
    test.each(cases)('$name', ({ name, args, code, says, hint, hides = [] }) => {
      const { code: exit, stdout, stderr, before, after } = results.get(name) as Result;
      expectRefusal({ code: exit, stdout, stderr }, code, args[0] !== 'demo', hint);
      expect(stdout + stderr).not.toContain(KEY);
      for (const part of says.map(withPort))
        expect(stderr.split('\n')[0]).toMatch(part.includes('|') ? new RegExp(part) : toPattern(part));
      for (const part of hides) expect(stdout + stderr).not.toContain(part);
      expect(after).toEqual(before);
    });
  });
}

async function perform({ args, env = {}, files: given = {} }: BadInput): Promise<Result> {
  const cwd = await makeFolder();
  try {
    for (const [path, content] of Object.entries(given)) {
      await mkdir(join(cwd, path, content === null ? '.' : '..'), { recursive: true });
      if (content !== null) await writeFile(join(cwd, path), content);
    }
    const before = await listing(cwd);
    const finished = await runCli(argumentsOf(args), { cwd, env });
    return { ...finished, before, after: await listing(cwd) };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

// Puts --json right after the command, because a later position could be parsed as a flag's value.
function argumentsOf([command = '', ...rest]: readonly string[]): string[] {
  if (command === 'demo') return [command, ...rest];
  return command.startsWith('-') ? [command, ...rest, '--json'] : [command, '--json', ...rest];
}

async function listing(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

function toPattern(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()[\]\\]/g, '\\$&'));
}
