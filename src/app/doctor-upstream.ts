import { toSightlineError } from '../base/errors.ts';
import { itemsOf } from '../contract/body.ts';
import { providerOf } from '../contract/catalogue.ts';
import type { Attempt } from '../contract/request.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { createClient } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { openBudget } from './sync.ts';
import { catalogue } from './workspace.ts';

/** Clocks that are this far apart put answers into other days. */
const SKEW_MS_MAX = 60_000;

/**
 * Asks upstream once, through the budget: whether it is reached, takes the key, and has a plan for the workspace, what its
 * clock says, and what rate limit it tells of.
 */
export async function checkUpstream({ context, isOffline }: Patient): Promise<Finding[]> {
  if (isOffline) return [{ status: 'ok', message: 'not asked, because of --offline' }];
  const { config, clock, signal } = context;
  let upstream: ReturnType<typeof config.upstream>;
  try {
    upstream = config.upstream();
  } catch {
    return [{ status: 'warning', message: 'not asked: see the configuration' }];
  }
  const { budget, close } = await openBudget(config, clock);
  const client = createClient({ ...upstream, budget, clock, connections: 1 });
  const first = new AbortController();
  let attempt: Attempt | null = null;
  try {
    const provider = providerOf(catalogue, 'brand');
    const { date } = await client.get(
      { path: provider.path, query: provider.ask ?? {} },
      (body) => itemsOf(provider, provider.derived[0] as ResourceTable, body),
      {
        signal: AbortSignal.any([signal, first.signal]),
        // Asked once: a doctor does not wait for what does not answer.
        onAttempt: (made) => {
          attempt = made;
          if (made.error !== null) first.abort(new Error(made.error));
        },
      },
    );
    const { sentAt } = attempt as unknown as Attempt;
    return [
      { status: 'ok', message: `${upstream.baseUrl} answers, and takes the key` },
      clockFinding(date, sentAt, clock.now()),
      { status: 'ok', message: `its rate limit is ${budget.state().limit} requests a minute` },
    ];
  } catch (thrown) {
    signal.throwIfAborted();
    if (!first.signal.aborted || thrown instanceof UpstreamError) throw thrown;
    const { message } = toSightlineError(first.signal.reason);
    const advice = 'Check SIGHTLINE_BASE_URL, the network and a proxy, if there is one; upstream may be down.';
    return [{ status: 'failure', message: `${message}; the base URL is ${upstream.baseUrl}`, advice }];
  } finally {
    await client.close();
    close();
  }
}

// Its clock is right if it showed a moment between sending and now; a Date header has no fractions of a second.
function clockFinding(date: number, sentAt: number, now: number): Finding {
  const skewMs = date < sentAt ? date - sentAt : Math.max(0, date - now);
  const seconds = Math.abs(Math.round(skewMs / 1000));
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return { status: 'ok', message: 'the clocks here and there agree' };
  const message = `the clock here is ${seconds.toLocaleString('en-US')} s ${skewMs < 0 ? 'ahead of' : 'behind'} upstream's`;
  return { status: 'warning', message, advice: 'Set the clock of this machine, such as by NTP.' };
}
