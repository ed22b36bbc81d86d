import { systemClock } from '../../base/clock.ts';
import { isReadableOnTheWay } from '../../base/config/budget-settings.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import type { Runner } from '../../jobs/runner.ts';
import { openRunner } from '../cluster/open-runner.ts';
import { checkSharedFolder, rejectLocalWarehouses } from '../cluster/shared-folder.ts';
import type { Finding } from './check-context.ts';

/**
 * Checks the queue that workers share, if there is one: that its database responds, and that all workers use the same
 * warehouses.
 */
export async function checkQueue(
  settings: RunnerSettings,
  configs: readonly WorkspaceConfig[],
  signal: AbortSignal,
): Promise<Finding[]> {
  if (settings.kind === 'process') return [];
  const rejected = rejectLocalWarehouses(settings, configs);
  const said: Finding[] = rejected === null ? [] : [failureOf(rejected)];
  const say = (message: string): void => void said.push({ status: 'warning', message });
  const startedAt = systemClock.monotonic();
  let runner: Runner;
  try {
    runner = await openRunner(settings, { folderOf: () => '', isPatient: false, signal, say });
  } catch (thrown) {
    signal.throwIfAborted();
    return [...said, failureOf(toSightlineError(thrown))];
  }
  try {
    const tasks = await runner.outstanding(0);
    const tookMs = Math.ceil(systemClock.monotonic() - startedAt);
    const message = `the queue of ${settings.urlVariable} answers in ${tookMs} ms; tasks waiting or running: ${tasks}`;
    const folder = rejected === null ? await checkFolder(runner, configs) : [];
    return [{ status: 'ok', message }, ...said, ...folder, ...warnOfTheWay(settings)];
  } finally {
    await runner.close();
  }
}

async function checkFolder(runner: Runner, configs: readonly WorkspaceConfig[]): Promise<Finding[]> {
  try {
    const isRecorded = await checkSharedFolder(runner, configs);
    return isRecorded
      ? [{ status: 'ok', message: 'local warehouses are in the data folder that the queue records' }]
      : [];
  } catch (thrown) {
    return [failureOf(toSightlineError(thrown))];
  }
}

function failureOf({ message, hint }: SightlineError): Finding {
  return { status: 'failure', message, advice: hint };
}

function warnOfTheWay({ url, urlVariable }: Exclude<RunnerSettings, { kind: 'process' }>): Finding[] {
  if (!isReadableOnTheWay(url)) return [];
  const message = `${urlVariable} does not require TLS: the password can be read in transit`;
  const advice = 'Add ?sslmode=verify-full to the address, unless you control the whole network path.';
  return [{ status: 'warning', message, advice }];
}
