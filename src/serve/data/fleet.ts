import PQueue from 'p-queue';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { readLiveFacts } from '../../operations/status.ts';
import { verdictOf } from '../../operations/verdict.ts';
import type { TableResult } from '../../read/metrics/table-result.ts';
import { toShownTexts } from '../../read/shown-text.ts';
import type { RunningSync } from '../../sync/progress-file.ts';
import type { FleetRow } from '../../web/page-data/fleet-row.ts';
import type { Level } from '../../web/page-data/status-lines.ts';
import { createFleetSummaries, type FleetSummariesParts, type FleetSummary, messageOf } from './fleet-summaries.ts';

/** How long a request waits for summaries that are being computed. */
const WAIT_MS = 1_000;
/** Maximum number of workspaces that are read at the same time. */
const READS_AT_ONCE = 8;

/** Dependencies of the list. */
export interface FleetParts extends FleetSummariesParts {
  /** Returns the current settings of all workspaces. */
  readonly workspaces: () => ReadonlyMap<string, WorkspaceConfig>;
}

/** The reader of the list. */
export interface FleetReader {
  readonly workspaces: readonly string[];
  /** Null for all brands. */
  readonly brands: readonly string[] | null;
}

/** The list of the workspaces that a credential opens. */
export interface Fleet {
  /** Returns one row per workspace, the most urgent first. */
  read(reader: FleetReader): Promise<readonly FleetRow[]>;
  close(): Promise<void>;
}

const urgency: readonly Level[] = ['problem', 'attention', 'busy', 'good'];

/** Creates the list. Replicas are read when they are first listed, and again when they are replaced. */
export function createFleet(parts: FleetParts): Fleet {
  const { clock } = parts;
  const summaries = createFleetSummaries(parts);
  const read: Fleet['read'] = async ({ workspaces, brands }) => {
    const all = parts.workspaces();
    const configs = workspaces.flatMap((name) => all.get(name) ?? []);
    const reading = configs.map((config) => summaries.read(config));
    await waitFor(reading);
    const queue = new PQueue({ concurrency: READS_AT_ONCE });
    const rows = await queue.addAll(
      configs.map((config, index) => () => {
        const row = readRow(config, clock.now(), reading[index]?.known ?? null);
        return row.catch((thrown: unknown) => failedRow(config.name, thrown));
      }),
    );
    const shown = brands === null ? rows : rows.map((row) => ({ ...row, brands: null, visibility: null }));
    return shown.sort(
      (a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level) || (a.workspace < b.workspace ? -1 : 1),
    );
  };
  const waitFor = async (reading: readonly ReturnType<typeof summaries.read>[]): Promise<void> => {
    const pending = reading.filter(({ known }) => known === null);
    if (pending.length === 0) return;
    const waited = new AbortController();
    const all = Promise.allSettled(pending.map(({ computed }) => computed));
    await Promise.race([all, clock.sleep(WAIT_MS, waited.signal).catch(() => undefined)]);
    waited.abort();
  };
  return { read, close: summaries.close };
}

async function readRow(config: WorkspaceConfig, nowMs: number, summary: FleetSummary | null): Promise<FleetRow> {
  const { replica = 'current', why = null, status = null, syncedAt = null, visibility = null } = summary ?? {};
  const facts = await readLiveFacts(config, nowMs);
  const { workspace, progress, jobs } = facts;
  const { level, sentence } = verdictOf({ ...facts, replica, why, status });
  const [job] = jobs.flatMap(({ name, next }) => (next === null ? [] : [{ name, at: next }])).sort(byTime);
  return toShownTexts({
    workspace,
    level: summary === null ? 'busy' : level,
    sentence: summary === null ? 'The data are being read.' : sentence,
    isPending: summary === null,
    syncedAt,
    completeTo: visibility?.completeTo ?? null,
    brands: status?.brands.length ?? null,
    visibility: visibility === null ? null : firstRecord(visibility),
    nextJob: job ?? null,
    sync: progress === null ? null : shownSync(progress),
  });
}

// Wrong settings of one workspace do not hide the others.
function failedRow(workspace: string, thrown: unknown): FleetRow {
  const sentence = messageOf(thrown) ?? 'The state of the workspace cannot be read.';
  const unknown = { syncedAt: null, completeTo: null, brands: null, visibility: null, nextJob: null, sync: null };
  return toShownTexts({ workspace, level: 'problem', sentence, isPending: false, ...unknown });
}

function firstRecord({ columns, rows: [row] }: TableResult): FleetRow['visibility'] {
  return row === undefined ? null : Object.fromEntries(columns.map(({ name }, index) => [name, row[index] ?? null]));
}

function shownSync({ command, startedAt, done, expected, secondsToGo }: RunningSync): FleetRow['sync'] {
  return { command, startedAt, done, expected, secondsToGo };
}

function byTime(a: { readonly at: string }, b: { readonly at: string }): number {
  return Date.parse(a.at) - Date.parse(b.at);
}
