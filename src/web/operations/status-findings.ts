import { DAY_MS } from '../../contract/time.ts';
import { toShown } from '../../query/shown-text.ts';
import type { RunningSync } from '../../sync/progress-file.ts';
import type { WarehouseStatus } from '../../warehouse/ledger/warehouse-status.ts';
import type { JobLine } from './page-parts.ts';

/** Data older than this are reported: the nightly sync is half a day late. */
const STALE_MS = 1.5 * DAY_MS;
/** How long before its expiry a key is reported. */
const EXPIRY_MS = 7 * DAY_MS;

/** Severity: `good`, `busy` (work in progress), `attention` (should be checked), `problem` (does not work). */
export type Level = 'good' | 'busy' | 'attention' | 'problem';

/** A message for the operator, and the command that helps. */
export interface Finding {
  readonly level: Level;
  readonly sentence: string;
  readonly command: string | null;
}

/**
 * State of the replica: none yet, unreadable, outdated (the newest is unreadable, the previous one is shown), current.
 */
export type ReplicaState = 'none' | 'unreadable' | 'outdated' | 'current';

/** Input of the findings. */
export interface Facts {
  readonly nowMs: number;
  readonly workspace: string;
  readonly copy: ReplicaState;
  /** Why the replica cannot be read; null if it can. */
  readonly why: string | null;
  readonly status: WarehouseStatus | null;
  /** When the newest data were read from upstream, epoch milliseconds. */
  readonly readAtMs: number | null;
  readonly progress: RunningSync | null;
  readonly jobs: readonly JobLine[];
  readonly keys: readonly { readonly name: string; readonly expiresAt: string | null }[] | null;
}

const endings: Readonly<Record<string, string>> = { partial: 'ended partial', interrupted: 'was interrupted' };

const urgency: readonly Level[] = ['problem', 'attention', 'busy', 'good'];

/** Returns the findings, most urgent first. */
export function findingsOf(facts: Facts): readonly Finding[] {
  const found = [...ofCopy(facts), ...ofUpstream(facts), ...ofData(facts), ...ofJobs(facts), ...ofKeys(facts)];
  if (facts.progress !== null && found.every(({ level }) => level !== 'busy')) {
    found.push({ level: 'busy', sentence: 'A sync is running.', command: null });
  }
  if (found.every(({ level }) => level === 'busy') && facts.status !== null) {
    found.push({ level: 'good', sentence: 'All is well: the copy is current and complete.', command: null });
  }
  const at = flagOf(facts.workspace);
  return found
    .map(({ level, sentence, command }) => {
      const typed = command === null ? null : `sightline ${command}${at}`;
      return { level, sentence: toShown(sentence), command: typed };
    })
    .sort((a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level));
}

function ofCopy({ copy, why, progress, status }: Facts): Finding[] {
  switch (copy) {
    case 'none':
      return progress === null
        ? [attention('No data synced yet.', 'sync')]
        : [{ level: 'busy', sentence: 'The first sync is running; data appear when it ends.', command: null }];
    case 'unreadable':
      return [problem(sentenceOf(why ?? 'the published copy cannot be read'), 'doctor --fix')];
    case 'outdated':
      return [problem('The newest published copy cannot be read; the previous one is shown.', 'doctor --fix')];
    case 'current':
      return status?.lastRun === null ? [attention('No sync has run yet.', 'sync')] : [];
  }
}

function ofUpstream({ status }: Facts): Finding[] {
  if (status?.key.state !== 'refused') return [];
  const said = status.key.lastRefusal === null ? '' : ` (${status.key.lastRefusal.status})`;
  return [problem(`Upstream rejects the workspace's key${said}: replace it in the settings, then sync.`, 'doctor')];
}

function ofData({ status, nowMs, readAtMs, progress }: Facts): Finding[] {
  if (status === null) return [];
  const found: Finding[] = [];
  const { lastRun, brands, quarantined, drift, resources } = status;
  if (progress === null && lastRun?.status === 'failed') {
    found.push(problem(`The last sync failed${reasonOf(lastRun.error)}`, 'sync'));
  } else if (progress === null && lastRun !== null && lastRun.status !== 'complete') {
    found.push(
      attention(`The last sync ${endings[lastRun.status] ?? 'did not end'}; the next one resumes it.`, 'sync'),
    );
  }
  if (progress === null && readAtMs !== null && nowMs - readAtMs > STALE_MS) {
    const days = Math.floor((nowMs - readAtMs) / DAY_MS);
    found.push(attention(`Data is ${days === 1 ? 'more than a day' : `${days} days`} old.`, 'sync'));
  }
  const differing = brands.reduce((sum, brand) => sum + brand.differingDays, 0);
  if (differing > 0) {
    const what = differing === 1 ? '1 day differs' : `${differing} days differ`;
    found.push(attention(`${what} from what upstream reports.`, 'verify --repair'));
  }
  const retried = status.differing.filter(({ isPermanent }) => !isPermanent).length;
  if (retried > 0) {
    const what = retried === 1 ? '1 day differs' : `${retried} days differ`;
    found.push(attention(`${what} from upstream's day counts; the next syncs retry.`, 'status'));
  }
  for (const { resource, lost, before } of status.heldDeletions) {
    const what = `Upstream no longer lists ${lost} of ${before} stored rows of ${resource}; they are kept until you confirm.`;
    found.push(attention(what, 'sync --accept-deletions'));
  }
  const missing = resources.reduce((sum, { gapDays }) => sum + gapDays, 0);
  if (missing > 0) {
    const what = missing === 1 ? '1 day was' : `${missing} days were`;
    found.push(attention(`${what} never read completely, over all resources and brands.`, 'sync'));
  }
  if (quarantined > 0) {
    const what =
      quarantined === 1
        ? '1 item is in quarantine: it could not be stored as a row.'
        : `${quarantined} items are in quarantine: they could not be stored as rows.`;
    found.push(attention(what, 'sql "from sync.quarantine"'));
  }
  const fresh = drift.filter(({ isNew }) => isNew).length;
  if (fresh > 0) {
    found.push(
      attention(`Upstream's responses changed in ${fresh} ${fresh === 1 ? 'way' : 'ways'}.`, 'sql "from sync.drift"'),
    );
  }
  return found;
}

function ofJobs({ jobs }: Facts): Finding[] {
  return jobs.flatMap(({ name, enabled, last }) => {
    if (!enabled || last === null) return [];
    const why = reasonOf(last.error);
    if (last.status === 'failed') return [problem(`The job ${name} failed${why}`, `jobs run ${name}`)];
    if (last.status === 'partial') return [attention(`The job ${name} ended partial${why}`, `jobs run ${name}`)];
    return [];
  });
}

function ofKeys({ keys, nowMs }: Facts): Finding[] {
  if (keys === null) return [problem("This server's key file is damaged.", 'keys list')];
  return keys.flatMap(({ name, expiresAt }) => {
    const left = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs;
    if (left <= 0 || left > EXPIRY_MS) return [];
    return [attention(`The key ${JSON.stringify(name)} expires on ${expiresAt?.slice(0, 10)}.`, 'keys create NAME')];
  });
}

function problem(sentence: string, command: string): Finding {
  return { level: 'problem', sentence, command };
}

function attention(sentence: string, command: string): Finding {
  return { level: 'attention', sentence, command };
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
