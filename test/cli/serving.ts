import type { Clock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/cli/checked-config.ts';
import { keepSchedule } from '../../src/cli/commands/use/serve-command.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';
import type { RunningSchedule } from '../../src/operations/run-schedule.ts';

/** Options of a served workspace: folder, settings, start and end time, and log. */
export interface Serving {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string;
  readonly log?: (text: string) => void;
}

/** Runs the jobs of a workspace like `serve`, with a virtual clock that runs to the end time and stops there. */
export function serveThrough({ folder, env, from, to, log = () => undefined }: Serving): Promise<RunningSchedule> {
  return withTerminal({ folder, variables: env }, async () => {
    const { signal } = new AbortController();
    const context = { config: readConfig({}), clock: clockUntil(from, to), signal, command: 'serve' };
    return keepSchedule(context, {}, { runsJobs: true, logLevel: 'info', log });
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
