import type { ErrorCode } from '../base/errors.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { askOnce } from './ask-once.ts';
import type { Finding, Patient } from './doctor-finding.ts';

/** Clocks that are this far apart put answers into other days. */
const SKEW_MS_MAX = 60_000;
/** What may be otherwise in a while. */
const PASSING: readonly ErrorCode[] = ['unreachable', 'bad_answer', 'upstream_failed'];

/**
 * Asks upstream once, through the budget: whether it is reached, takes the key, and has a plan for the workspace, what its
 * clock says, and what rate limit it tells of.
 */
export async function checkUpstream({ context, isOffline }: Patient, hasNoBudget: boolean): Promise<Finding[]> {
  if (isOffline) return [{ status: 'ok', message: 'not asked, because of --offline' }];
  if (hasNoBudget) return [{ status: 'warning', message: 'not asked: see the budget' }];
  const { config, clock, signal } = context;
  let baseUrl: string;
  try {
    ({ baseUrl } = config.upstream());
  } catch {
    return [{ status: 'warning', message: 'not asked: see the configuration' }];
  }
  try {
    const { date, sentAt, rateLimit } = await askOnce(config, clock, signal);
    return [
      { status: 'ok', message: `${baseUrl} answers, and takes the key` },
      clockFinding(date, sentAt, clock.now()),
      { status: 'ok', message: `its rate limit is ${rateLimit} requests a minute` },
    ];
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError) || !PASSING.includes(thrown.code)) throw thrown;
    const advice = 'Check SIGHTLINE_BASE_URL and the network; upstream may be down.';
    return [{ status: 'failure', message: `${thrown.message}; the base URL is ${baseUrl}`, advice }];
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
