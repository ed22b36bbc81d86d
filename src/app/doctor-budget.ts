import { isReadableOnTheWay } from '../base/budget-settings.ts';
import { SightlineError } from '../base/errors.ts';
import { tryBudgetDatabase } from '../upstream/budget-database.ts';
import type { Finding, Patient } from './doctor-finding.ts';

/** Looks at where the key's budget is kept: whether the database that workers share answers. */
export async function checkBudget({ context }: Patient): Promise<Finding[]> {
  const { config, clock } = context;
  const settings = config.budget();
  if (settings.kind === 'file') {
    return [{ status: 'ok', message: 'kept in files of the data folder, for all processes of this machine' }];
  }
  try {
    const { version, tookMs } = await tryBudgetDatabase(settings, clock);
    const message = `PostgreSQL ${version} of ${settings.urlVariable} answers in ${Math.ceil(tookMs)} ms`;
    if (!isReadableOnTheWay(settings.url)) return [{ status: 'ok', message }];
    const open = `${settings.urlVariable} asks for no TLS: the password may be read on the way`;
    const advice = 'Add ?sslmode=verify-full to the address, unless the whole way is your own.';
    return [
      { status: 'ok', message },
      { status: 'warning', message: open, advice },
    ];
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'budget_unreachable') throw thrown;
    const advice = `Check ${settings.urlVariable}, the network, and what the role may do; without it nothing is asked.`;
    return [{ status: 'failure', message: thrown.message, advice }];
  }
}
