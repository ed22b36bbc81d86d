import { STALE_HOURS } from '../base/config/notify-settings.ts';
import { isClockError } from '../contract/plausibility/run-clock.ts';
import { DAY_MS, shownTime } from '../contract/time.ts';
import type { RunningSync } from '../sync/progress-file.ts';
import type { WarehouseStatus } from '../warehouse/ledger/warehouse-status.ts';
import type { DestinationState, Finding, JobLine, Level, Verdict } from '../web/page-data/status-lines.ts';

/** Older data are reported, like those of webhooks without their own limit. */
const STALE_MS = STALE_HOURS * 3_600_000;
/** How long before its expiry a key is reported. */
const EXPIRY_MS = 7 * DAY_MS;
/** Parts that were never read and are named. */
const NAMED_MAX = 3;

/**
 * State of the replica: none yet, unreadable, outdated (the newest is unreadable, the previous one is shown), current.
 */
export type ReplicaState = 'none' | 'unreadable' | 'outdated' | 'current';

/** Input of the verdict. */
export interface Facts {
  readonly nowMs: number;
  readonly workspace: string;
  readonly replica: ReplicaState;
  /** Reason why the replica cannot be read; null if it can. */
  readonly why: string | null;
  readonly status: WarehouseStatus | null;
  /** The running sync of any process; null if none runs. */
  readonly progress: RunningSync | null;
  /** Whether a process has the warehouse open for writing, also before and after the requests of its sync. */
  readonly isOwned: boolean;
  readonly jobs: readonly JobLine[];
  readonly destinations: readonly Pick<DestinationState, 'name' | 'last'>[];
  /** Null if the key file is damaged. */
  readonly keys: readonly { readonly name: string; readonly expiresAt: string | null }[] | null;
}

const endings: Readonly<Record<string, string>> = {
  partial: 'ended partial',
  interrupted: 'was interrupted',
  running: 'ended unexpectedly: its process was killed or could not write',
};

const urgency: readonly Level[] = ['problem', 'attention', 'busy', 'good'];

/**
 * Judges the state of a workspace. Freshness and completeness come from the slices that were read, not from the last run.
 * Consequences are listed with their cause: a rejected key is one finding, with the stale data and the failed job below it.
 */
export function verdictOf(facts: Facts): Verdict {
  const found = [ofReplica, ofData, ofJobs, ofLoads, ofKeys].flatMap((find) => find(facts));
  const { progress, status } = facts;
  if (progress !== null && found.every(({ level }) => level !== 'busy')) {
    found.push({ level: 'busy', about: 'data', sentence: 'A sync is running.', command: null, consequences: [] });
  }
  if (found.length === 0 && status !== null) {
    const asOf = status.freshness.asOf;
    const sentence = `All is well: the data are complete${asOf === null ? '' : ` as of ${shownTime(asOf)}`}.`;
    found.push({ level: 'good', about: 'data', sentence, command: null, consequences: [] });
  }
  const at = flagOf(facts.workspace);
  const findings = found
    .map((one) => ({ ...one, command: one.command === null ? null : `sightline ${one.command}${at}` }))
    .sort((a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level));
  const [first] = findings;
  return { level: first?.level ?? 'attention', sentence: first?.sentence ?? 'No data synced yet.', findings };
}

function ofReplica({ replica, why, progress, status }: Facts): Finding[] {
  switch (replica) {
    case 'none':
      return progress === null
        ? [attention('replica', 'No data synced yet.', 'sync')]
        : [
            {
              level: 'busy',
              about: 'replica',
              sentence: 'The first sync is running; data appear when its lists are complete.',
              command: null,
              consequences: [],
            },
          ];
    case 'unreadable':
      return [problem('replica', sentenceOf(why ?? 'the replica cannot be read'), 'doctor --fix')];
    case 'outdated':
      return [problem('replica', 'The newest replica cannot be read; the previous one is shown.', 'doctor --fix')];
    case 'current':
      return status?.lastRun === null ? [attention('replica', 'No sync has run yet.', 'sync')] : [];
  }
}

function ofData(facts: Facts): Finding[] {
  const { status, progress } = facts;
  if (status === null) return [];
  // A running sync may resolve everything else that could not be read, but it does not make old data recent.
  const found =
    progress === null
      ? ofReading(facts, status)
      : staleSentences(facts.nowMs, status.freshness).map((sentence) => attention('data', sentence, 'status'));
  const { brands, quarantined, drift, resources } = status;
  const differing = brands.reduce((sum, brand) => sum + brand.differingDays, 0);
  if (differing > 0) {
    const what = differing === 1 ? '1 day differs' : `${differing} days differ`;
    found.push(attention('data', `${what} from what upstream reports.`, 'verify --repair'));
  }
  const retried = status.differing.filter(({ isPermanent }) => !isPermanent).length;
  if (retried > 0) {
    const what = retried === 1 ? '1 day differs' : `${retried} days differ`;
    found.push(attention('data', `${what} from upstream's day counts; the next syncs retry.`, 'status'));
  }
  for (const { resource, lost, before } of status.unconfirmedDeletions) {
    const what = `Upstream no longer lists ${lost} of ${before} stored rows of ${resource}; they are kept until you confirm.`;
    found.push(attention('data', what, 'sync --accept-deletions'));
  }
  // A resource that was never read is left out on purpose, or is part of an unresolved sync.
  const missing = resources.reduce((sum, { readAt, gapDays }) => sum + (readAt === null ? 0 : gapDays), 0);
  if (missing > 0) {
    const what = missing === 1 ? '1 day was' : `${missing} days were`;
    found.push(attention('data', `${what} never read completely, over all resources and brands.`, 'sync'));
  }
  if (quarantined > 0) {
    const what =
      quarantined === 1
        ? '1 item is in quarantine: it could not be stored as a row.'
        : `${quarantined} items are in quarantine: they could not be stored as rows.`;
    found.push(attention('data', what, 'sql "from sync.quarantine"'));
  }
  const fresh = drift.filter(({ isNew }) => isNew).length;
  if (fresh > 0) {
    found.push(
      attention(
        'data',
        `Upstream's responses changed in ${fresh} ${fresh === 1 ? 'way' : 'ways'}.`,
        'sql "from sync.drift"',
      ),
    );
  }
  return found;
}

// Data that could not be read, or not recently: the rejected key or the failed sync is the cause of the rest.
function ofReading({ nowMs, jobs, isOwned }: Facts, { key, freshness }: WarehouseStatus): Finding[] {
  const failedJobs = jobs
    .filter((job) => job.enabled && isOfSync(job) && job.last?.status === 'failed')
    .map(({ name }) => `The job ${name} failed.`);
  const run = freshness.unresolved;
  const incomplete = [...staleSentences(nowMs, freshness), ...neverReadSentences(freshness)];
  if (key.state === 'refused') {
    const status = key.lastRefusal === null ? '' : ` (${key.lastRefusal.status})`;
    const sentence = `Upstream rejects the workspace's key${status}: replace it in the settings, then sync.`;
    return [{ ...problem('data', sentence, 'doctor'), consequences: [...incomplete, ...failedJobs] }];
  }
  if (run?.status === 'failed') {
    const failed = `The last sync failed${reasonOf(run.error)}`;
    const found = isClockError(run.error)
      ? problem('data', `${failed} Correct the clock of this machine, then sync.`, null)
      : problem('data', failed, 'sync');
    return [{ ...found, consequences: [...incomplete, ...failedJobs] }];
  }
  if (run?.status === 'running' && isOwned) {
    return [{ level: 'busy', about: 'data', sentence: 'A sync is running.', command: null, consequences: incomplete }];
  }
  if (run !== null) {
    const sentence = `The last sync ${endings[run.status] ?? 'did not end'}; the next one resumes it.`;
    return [{ ...attention('data', sentence, 'sync'), consequences: incomplete }];
  }
  return incomplete.map((sentence) => attention('data', sentence, 'sync'));
}

function staleSentences(nowMs: number, freshness: WarehouseStatus['freshness']): string[] {
  const { asOf } = freshness;
  const ageMs = asOf === null ? 0 : nowMs - Date.parse(asOf);
  if (asOf === null || ageMs <= STALE_MS) return [];
  const days = Math.floor(ageMs / DAY_MS);
  const age = days === 1 ? 'more than a day' : `${days} days`;
  const part = freshness.oldest === null ? '' : ` (${freshness.oldest.resource})`;
  return [`Data is ${age} old. Oldest complete read: ${shownTime(asOf)}${part}.`];
}

function neverReadSentences(freshness: WarehouseStatus['freshness']): string[] {
  const count = freshness.neverReadCount;
  if (count === 0) return [];
  const names = [...new Set(freshness.neverRead.map(({ resource }) => resource))];
  const more = names.length > NAMED_MAX ? ' and others' : '';
  const what = count === 1 ? '1 list was' : `${count} lists were`;
  return [`${what} never read completely: ${names.slice(0, NAMED_MAX).join(', ')}${more}.`];
}

// A failed step of a sync is reported with the sync itself.
function isOfSync({ last }: JobLine): boolean {
  return last?.error?.startsWith('sync: ') === true;
}

function ofJobs({ jobs, status, progress }: Facts): Finding[] {
  const isExplained =
    progress === null && (status?.key.state === 'refused' || status?.freshness.unresolved?.status === 'failed');
  return jobs.flatMap((job) => {
    const { name, enabled, last, overdueSince } = job;
    if (!enabled || last === null || (isExplained && isOfSync(job))) return [];
    const why = reasonOf(last.error);
    if (last.status === 'failed') return [problem('jobs', `The job ${name} failed${why}`, `jobs run ${name}`)];
    if (last.status === 'partial')
      return [attention('jobs', `The job ${name} ended partial${why}`, `jobs run ${name}`)];
    if (overdueSince === null) return [];
    const sentence = `The job ${name} was due at ${shownTime(overdueSince)} and has not run since ${shownTime(last.startedAt)}.`;
    return [attention('jobs', sentence, `jobs run ${name}`)];
  });
}

function ofLoads({ destinations }: Facts): Finding[] {
  return destinations.flatMap(({ name, last }) =>
    last === null || last.error === null
      ? []
      : [attention('destinations', `The last load into ${name} failed${reasonOf(last.error)}`, `load ${name}`)],
  );
}

function ofKeys({ keys, nowMs }: Facts): Finding[] {
  if (keys === null) return [problem('keys', "This server's key file is damaged.", 'keys list')];
  return keys.flatMap(({ name, expiresAt }) => {
    const left = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs;
    if (left <= 0 || left > EXPIRY_MS) return [];
    return [
      attention('keys', `The key ${JSON.stringify(name)} expires on ${expiresAt?.slice(0, 10)}.`, 'keys create NAME'),
    ];
  });
}

function problem(about: Finding['about'], sentence: string, command: string | null): Finding {
  return { level: 'problem', about, sentence, command, consequences: [] };
}

function attention(about: Finding['about'], sentence: string, command: string): Finding {
  return { level: 'attention', about, sentence, command, consequences: [] };
}

function reasonOf(error: string | null): string {
  const [first = ''] = error?.split('\n') ?? [];
  return first === '' ? '.' : `: ${/[.!?]$/.test(first) ? first : `${first}.`}`;
}

function sentenceOf(text: string): string {
  const [first = ''] = text.split('\n');
  const begun = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}`;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

function flagOf(workspace: string): string {
  return workspace === 'default' ? '' : ` --workspace ${workspace}`;
}
