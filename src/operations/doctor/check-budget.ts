import { isReadableOnTheWay } from '../../base/config/budget-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import { tryBudgetDatabase } from '../../budget/budget-database.ts';
import { checkBudgetFiles, checkBudgetRows, type ImplausibleRecords } from '../../budget/repair.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

/** Checks that a shared budget database responds and that the budget logs contain no implausible records. */
export async function checkBudget({ context, layout, fix }: CheckContext): Promise<Finding[]> {
  const { config, clock } = context;
  const settings = config.budget();
  if (settings.kind === 'file') {
    const message = 'kept in the data folder and shared by all processes on this machine';
    return [{ status: 'ok', message }, ...toFindings(checkBudgetFiles(layout.budgets, fix), layout.budgets, fix)];
  }
  try {
    const { version, tookMs } = await tryBudgetDatabase(settings, clock);
    const message = `PostgreSQL ${version} of ${settings.urlVariable} answers in ${Math.ceil(tookMs)} ms`;
    const records = toFindings(await checkBudgetRows(settings, clock, fix), settings.urlVariable, fix);
    if (!isReadableOnTheWay(settings.url)) return [{ status: 'ok', message }, ...records];
    const open = `${settings.urlVariable} does not require TLS: the password can be read in transit`;
    const advice = 'Add ?sslmode=verify-full to the address, unless you control the whole network path.';
    return [{ status: 'ok', message }, { status: 'warning', message: open, advice }, ...records];
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'budget_unreachable') throw thrown;
    const advice = `Check ${settings.urlVariable}, the network and the privileges of the role. No requests are sent until the database responds.`;
    return [{ status: 'failure', message: thrown.message, advice }];
  }
}

function toFindings({ count, examples }: ImplausibleRecords, place: string, fix: boolean): Finding[] {
  if (count === 0) return [];
  const message = `${counted(count, 'implausible record')} in the budget log of ${place}: ${examples.join(', ')}`;
  if (fix) return [{ status: 'ok', message: `removed ${message}`, fixed: true }];
  return [
    { status: 'warning', message, advice: 'Run `sightline doctor --fix` to remove them; until then they are ignored.' },
  ];
}
