import { isReadableOnTheWay } from '../../base/config/budget-settings.ts';
import { type ErrorCode, SightlineError } from '../../base/errors.ts';
import { shownProxy } from '../../base/proxies.ts';
import { tryBudgetDatabase } from '../../upstream/budget/budget-database.ts';
import { checkBudgetFiles, checkBudgetRows, type ImplausibleRecords } from '../../upstream/budget/repair.ts';
import { UpstreamError } from '../../upstream/errors.ts';
import { askOnce } from '../probe.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

/** Larger clock differences assign responses to wrong days. */
const SKEW_MS_MAX = 60_000;
/** Errors that may disappear without a change of settings. */
const PASSING: readonly ErrorCode[] = ['unreachable', 'bad_answer', 'upstream_failed'];

/**
 * Sends one request to upstream through the budget. Checks that it is reachable, accepts the key and has a plan for the
 * workspace, compares the clocks, and reports the rate limit.
 */
export async function checkUpstream({ context, isOffline }: CheckContext, hasNoBudget: boolean): Promise<Finding[]> {
  if (isOffline) return [{ status: 'ok', message: 'not checked, because of --offline' }];
  if (hasNoBudget) return [{ status: 'warning', message: 'not checked: see the check of the budget' }];
  const { config, clock, signal } = context;
  let baseUrl: string;
  let proxy: URL | null;
  try {
    ({ baseUrl, proxy } = config.upstream());
  } catch {
    return [{ status: 'warning', message: 'not checked: see the check of the configuration' }];
  }
  const through = proxy === null ? '' : `, through the proxy ${shownProxy(proxy)}`;
  try {
    const { date, sentAt, rateLimit } = await askOnce(config, clock, signal);
    return [
      { status: 'ok', message: `${baseUrl} answers and accepts the key${through}` },
      clockFinding(date, sentAt, clock.now()),
      { status: 'ok', message: `its rate limit is ${rateLimit} requests per minute` },
    ];
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError) || !PASSING.includes(thrown.code)) throw thrown;
    const advice =
      proxy === null
        ? 'Check SIGHTLINE_BASE_URL and the network; upstream may be down.'
        : 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, then SIGHTLINE_BASE_URL.';
    return [{ status: 'failure', message: `${thrown.message.replace(/\.$/, '')}; the base URL is ${baseUrl}`, advice }];
  }
}

// Upstream's clock agrees if its time lies between sending and now. A Date header has no fractions of a second.
function clockFinding(date: number, sentAt: number, now: number): Finding {
  const skewMs = date < sentAt ? date - sentAt : Math.max(0, date - now);
  const seconds = Math.abs(Math.round(skewMs / 1000));
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return { status: 'ok', message: "this machine's clock agrees with upstream's" };
  const message = `this machine's clock is ${seconds.toLocaleString('en-US')} s ${skewMs < 0 ? 'ahead of' : 'behind'} upstream's`;
  return { status: 'warning', message, advice: 'Correct the clock of this machine, for example with NTP.' };
}

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
