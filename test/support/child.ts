import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A running child process. */
export interface Child {
  readonly process: ChildProcess;
  /** Resolves with the next message, or with null after the process has exited. */
  message(): Promise<string | null>;
  /** Kills the process with SIGKILL and resolves when it has exited. */
  kill(): Promise<void>;
}

/** Runs a TypeScript file in a child process, which is killed when the test ends. */
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
