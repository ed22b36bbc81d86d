import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import PQueue from 'p-queue';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import { fileIdentity } from '../../base/files.ts';
import { dayOf } from '../../contract/time.ts';
import { METRICS } from '../../metrics/model/measures.ts';
import type { ReplicaState } from '../../operations/verdict.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import type { TableResult } from '../../read/metrics/table-result.ts';
import type { Service } from '../../read/service.ts';
import { readStatus, type WarehouseStatus } from '../../warehouse/ledger/warehouse-status.ts';
import { openService } from '../open-service.ts';

/** Maximum number of replicas that are open for summaries, in addition to the replicas of the open workspaces. */
const OPEN_MAX = 2;

/** The part of a workspace's row that depends only on its replica and the day. */
export interface FleetSummary {
  readonly replica: Exclude<ReplicaState, 'outdated'>;
  /** Reason why the replica cannot be read; null if it can. */
  readonly why: string | null;
  readonly status: WarehouseStatus | null;
  /** End of the last complete sync, ISO 8601. */
  readonly syncedAt: string | null;
  /** Visibility of all brands in the default range, with its change; null without brands. */
  readonly visibility: TableResult | null;
}

/** Dependencies of the summaries. */
export interface FleetSummariesParts {
  readonly clock: Clock;
  readonly queryTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** Summaries of workspaces, each computed once per replica and day. */
export interface FleetSummaries {
  /** Returns the summary of a workspace's replica; null while it is computed. `computed` resolves when it is known. */
  read(config: WorkspaceConfig): { readonly known: FleetSummary | null; readonly computed: Promise<FleetSummary> };
  /** Waits for the summaries that are being computed. */
  close(): Promise<void>;
}

interface Entry {
  readonly identity: string;
  readonly computed: Promise<FleetSummary>;
  known: FleetSummary | null;
}

/** Creates an empty set of summaries. A replica is opened for its summary only, so that no workspace in use is closed for it. */
export function createFleetSummaries(parts: FleetSummariesParts): FleetSummaries {
  const { clock, signal } = parts;
  const queue = new PQueue({ concurrency: OPEN_MAX });
  const entries = new Map<string, Entry>();
  const begin = (config: WorkspaceConfig, identity: string, before: Entry | undefined): Entry => {
    const computed = queue.add(() => summarize(config, parts));
    // While a newer replica is read, the summary of the previous one is shown.
    const entry: Entry = { identity, computed, known: before?.known ?? null };
    computed.then(
      (summary) => {
        entry.known = summary;
      },
      (thrown: unknown) => {
        entry.known = { ...EMPTY, replica: 'unreadable', why: messageOf(thrown) };
        if (entries.get(config.name) === entry) entries.delete(config.name);
      },
    );
    return entry;
  };
  return {
    read: (config) => {
      const identity = `${config.folder} ${fileIdentity(layoutOf(config.folder).analytics)} ${dayOf(clock.now())}`;
      const before = entries.get(config.name);
      const entry = before?.identity === identity ? before : begin(config, identity, before);
      entries.set(config.name, entry);
      return entry;
    },
    close: async () => {
      if (signal.aborted) queue.clear();
      await queue.onIdle();
    },
  };
}

const EMPTY = { status: null, syncedAt: null, visibility: null } as const;

async function summarize(config: WorkspaceConfig, parts: FleetSummariesParts): Promise<FleetSummary> {
  parts.signal.throwIfAborted();
  const service = openService(config, parts.clock, randomBytes(32), parts.queryTimeoutMs);
  try {
    return await readSummary(service, parts);
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'no_data') throw thrown;
    const replica = existsSync(layoutOf(config.folder).analytics) ? 'unreadable' : 'none';
    return { ...EMPTY, replica, why: thrown.message };
  } finally {
    await service.close();
  }
}

async function readSummary(service: Service, { clock, signal }: FleetSummariesParts): Promise<FleetSummary> {
  const { runMetrics } = await import('../../read/metrics/run-metrics.ts');
  const { catalogue } = service;
  const nowMs = clock.now();
  const replica = await service.newest();
  const { status, syncedAt } = await replica.replica.work(
    async (query) => ({
      status: await readStatus(query, catalogue, nowMs),
      syncedAt: (await query(LAST_COMPLETE))[0]?.[0] ?? null,
    }),
    signal,
  );
  const given = new URLSearchParams({ [METRICS]: 'visibility' });
  const source = { replica, catalogue, nowMs, signal };
  const visibility = replica.brands.size === 0 ? null : await runMetrics(source, given);
  return { replica: 'current', why: null, status, syncedAt: syncedAt === null ? null : String(syncedAt), visibility };
}

const LAST_COMPLETE =
  "SELECT strftime(max(ended_at), '%Y-%m-%dT%H:%M:%SZ') FROM sync.runs WHERE status = 'complete' AND kind = 'sync'";

/** Returns the message of an error for readers; null for unexpected errors, because their messages may contain paths. */
export function messageOf(thrown: unknown): string | null {
  return thrown instanceof SightlineError && thrown.code !== 'internal' ? thrown.message : null;
}
