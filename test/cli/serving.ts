import type { Clock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/cli/context.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import { parseArguments } from '../../src/cli/program/program.ts';
import { ownWorkspace } from '../../src/cli/serve-owner.ts';
import type { RunningOwner } from '../../src/operations/run-owner.ts';

/** Options of a test owner: folder, settings, start and end time, and log. */
export interface Serving {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string;
  readonly log?: (text: string) => void;
}

/** Owns a workspace and runs its jobs like `serve`, with a virtual clock that runs to the end time and stops there. */
export function serveThrough({ folder, env, from, to, log = () => undefined }: Serving): Promise<RunningOwner> {
  return withTerminal({ folder, environment: env }, async () => {
    const { signal } = new AbortController();
    const context = { config: readConfig({}), clock: clockUntil(from, to), signal, command: 'serve' };
    return ownWorkspace(context, {}, { runsJobs: true, parse: parseArguments, logLevel: 'info', log });
  });
}

function clockUntil(from: string, to: string): Clock {
  let now = Date.parse(from);
  return {
    now: () => now,
    monotonic: () => performance.now(),
    random: () => 0.5,
    sleep: async (ms, signal) => {
      if (now < Date.parse(to)) {
        now += ms;
        await new Promise((resolve) => setImmediate(resolve));
      } else await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  };
}
