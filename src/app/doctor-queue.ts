import { isReadableOnTheWay } from '../base/budget-settings.ts';
import { systemClock } from '../base/clock.ts';
import type { RunnerSettings } from '../base/runner-settings.ts';
import type { Finding } from './doctor-finding.ts';
import { openRunner } from './runner.ts';

/** Looks at the queue that workers share, where there is one: whether its database answers, and agrees about the time. */
export async function checkQueue(settings: RunnerSettings, signal: AbortSignal): Promise<Finding[]> {
  if (settings.kind === 'process') return [];
  const said: Finding[] = [];
  const say = (message: string): void => void said.push({ status: 'warning', message });
  const startedAt = systemClock.monotonic();
  const runner = await openRunner(settings, { folderOf: () => '', isPatient: false, signal, say });
  try {
    const tasks = await runner.outstanding(0);
    const tookMs = Math.ceil(systemClock.monotonic() - startedAt);
    const message = `the queue of ${settings.urlVariable} answers in ${tookMs} ms; tasks that wait or are under way: ${tasks}`;
    return [{ status: 'ok', message }, ...said, ...warnOfTheWay(settings)];
  } finally {
    await runner.close();
  }
}

function warnOfTheWay({ kind, url, urlVariable }: Exclude<RunnerSettings, { kind: 'process' }>): Finding[] {
  const { protocol, hostname } = new URL(url);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  const isReadable = kind === 'postgres' ? isReadableOnTheWay(url) : protocol === 'redis:' && !isLoopback;
  if (!isReadable) return [];
  const how = kind === 'postgres' ? 'Add ?sslmode=verify-full to the address' : 'Let the address begin with rediss://';
  const message = `${urlVariable} asks for no TLS: the password may be read on the way`;
  return [{ status: 'warning', message, advice: `${how}, unless the whole way is your own.` }];
}
