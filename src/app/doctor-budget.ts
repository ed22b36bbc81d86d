import { isReadableOnTheWay } from '../base/budget-settings.ts';
import { SightlineError } from '../base/errors.ts';
import { tryBudgetDatabase } from '../upstream/budget-database.ts';
import { checkBudgetFiles, checkBudgetRows, type ImplausibleRecords } from '../upstream/budget-repair.ts';
import { counted, type Finding, type Patient } from './doctor-finding.ts';

/** Checks where budgets are kept: whether a shared database answers, and whether the logs have implausible records. */
export async function checkBudget({ context, layout, fix }: Patient): Promise<Finding[]> {
  const { config, clock } = context;
  const settings = config.budget();
  if (settings.kind === 'file') {
    const message = 'kept in files of the data folder, for all processes of this machine';
    return [{ status: 'ok', message }, ...toFindings(checkBudgetFiles(layout.budgets, fix), layout.budgets, fix)];
  }
  try {
    const { version, tookMs } = await tryBudgetDatabase(settings, clock);
    const message = `PostgreSQL ${version} of ${settings.urlVariable} answers in ${Math.ceil(tookMs)} ms`;
    const records = toFindings(await checkBudgetRows(settings, clock, fix), settings.urlVariable, fix);
    if (!isReadableOnTheWay(settings.url)) return [{ status: 'ok', message }, ...records];
    const open = `${settings.urlVariable} asks for no TLS: the password may be read on the way`;
    const advice = 'Add ?sslmode=verify-full to the address, unless the whole way is your own.';
    return [{ status: 'ok', message }, { status: 'warning', message: open, advice }, ...records];
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'budget_unreachable') throw thrown;
    const advice = `Check ${settings.urlVariable}, the network, and what the role may do; without it nothing is asked.`;
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
