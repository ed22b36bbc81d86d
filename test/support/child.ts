import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A process under way, as the test sees it. */
export interface Child {
  readonly process: ChildProcess;
  /** Resolves with the next message, or with null when the process has ended. */
  message(): Promise<string | null>;
  /** Ends it the hard way and resolves when it is gone. */
  kill(): Promise<void>;
}

/** Runs a TypeScript file in a process of its own, which does not outlive the test. */
export function startChild(file: URL, ...given: readonly string[]): Child {
  const runner = fileURLToPath(new URL('run-typescript.mjs', import.meta.url));
  const child = fork(runner, [fileURLToPath(file), ...given], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const messages: string[] = [];
  const waiting: ((message: string | null) => void)[] = [];
  const exited = new Promise<null>((resolve) => child.once('exit', () => resolve(null)));
  child.on('message', (message) => {
    const next = waiting.shift();
    if (next === undefined) messages.push(String(message));
    else next(String(message));
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const message = (): Promise<string | null> => {
    const [first] = messages.splice(0, 1);
    if (first !== undefined) return Promise.resolve(first);
    return Promise.race([new Promise<string | null>((resolve) => waiting.push(resolve)), exited]);
  };
  return { process: child, message, kill };
}
