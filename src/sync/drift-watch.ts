import { z } from 'zod';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { createFindings, type DriftKind, type Finding } from '../contract/drift-findings.ts';
import { createDriftWatcher, type DriftWatcher } from '../contract/drift.ts';
import type { Implausible } from '../contract/implausible.ts';
import { number } from '../contract/operation/json-parts.ts';
import type { Database } from '../warehouse/database.ts';
import {
  countDrift,
  type DriftNotes,
  readDriftMemory,
  type Sighting,
  sightingIdentity,
  writeDrift,
} from '../warehouse/ledger/drift-notes.ts';
import type { PageCommit } from '../warehouse/write/page-commit.ts';

/** Counts of drift that no earlier run has found. */
export const driftCounts = z.object({
  unknownFields: number,
  vanishedFields: number,
  changedTypes: number,
  newValues: number,
  implausibleValues: number,
  newParameters: number.describe("undeclared parameters in upstream's OpenAPI document"),
  newEndpoints: number,
});

/** Counts of drift that no earlier run has found. */
export type DriftCounts = z.infer<typeof driftCounts>;

/** Watches all pages of a run for drift. */
export interface DriftWatch {
  /** Returns the drift to store with a page; null for most pages. */
  detect(page: PageCommit, body: unknown): DriftNotes | null;
  /** Stores out-of-bounds values that are not known yet, outside of a page. */
  store(runId: string, resource: string, implausible: readonly Implausible[], at: number): Promise<void>;
  /** Stores findings that are not known yet, outside of a page. */
  note(runId: string, resource: string, findings: readonly Finding[], at: number): Promise<void>;
  /**
   * Stores the counts of known findings. After a `complete` run the vocabulary is settled: later additions count as
   * drift.
   */
  endRun(runId: string, complete: boolean, at: number): Promise<void>;
  /** Returns the counts since the last call. */
  takeCounts(): DriftCounts;
  /** Stores the counts of a run that was not ended. */
  close(at: number): Promise<void>;
}

/** Limit of rows in sync.drift, in case upstream sends arbitrary field names. */
const ROWS_MAX = 2000;
/** Limit for findings of upstream's document, which leaves room for those of its data. */
const DOCUMENT_ROWS_MAX = 1000;
const ofDocument: readonly DriftKind[] = ['new_parameter', 'new_endpoint'];

const countOf: Readonly<Record<DriftKind, keyof DriftCounts>> = {
  unknown_field: 'unknownFields',
  vanished_field: 'vanishedFields',
  changed_type: 'changedTypes',
  new_value: 'newValues',
  implausible_value: 'implausibleValues',
  new_parameter: 'newParameters',
  new_endpoint: 'newEndpoints',
};

/** Opens a watch with the vocabulary of earlier runs. */
export async function openDriftWatch(catalogue: Catalogue, database: Database): Promise<DriftWatch> {
  const { knowledge, known } = await readDriftMemory(database);
  const watchers = new Map<string, DriftWatcher>();
  const sightings = new Map<string, Sighting>();
  let counts = noDrift();
  const watcherOf = (name: string): DriftWatcher => {
    const found = watchers.get(name);
    if (found !== undefined) return found;
    const resource = catalogue.get(name);
    const watcher = createDriftWatcher(resource, knowledge.get(name) ?? [], listedFields(catalogue, resource));
    watchers.set(name, watcher);
    return watcher;
  };
  // Known findings are only counted; `close` stores the counts.
  const keepNew = (resource: string, findings: readonly Finding[], at: number): Finding[] =>
    findings.filter((finding) => {
      const identity = sightingIdentity(resource, finding);
      if (known.has(identity)) {
        const count = (sightings.get(identity)?.finding.count ?? 0) + finding.count;
        sightings.set(identity, { resource, finding: { ...finding, count }, at });
        return false;
      }
      if (known.size >= (ofDocument.includes(finding.kind) ? DOCUMENT_ROWS_MAX : ROWS_MAX)) return false;
      known.add(identity);
      counts[countOf[finding.kind]] += 1;
      return true;
    });
  const note = async (runId: string, resource: string, found: readonly Finding[], at: number): Promise<void> => {
    const findings = keepNew(resource, found, at);
    if (findings.length === 0) return;
    await database.transaction(async (session) =>
      writeDrift(session, runId, { resource, findings, knowledge: [] }, at),
    );
  };
  let lastRun: string | null = null;
  const endRun = async (runId: string, complete: boolean, at: number): Promise<void> => {
    await database.transaction(async (session) => {
      await countDrift(session, runId, sightings.values());
      for (const [resource, watcher] of watchers) {
        if (complete) watcher.settle();
        writeDrift(session, runId, { resource, findings: [], knowledge: watcher.takeKnowledge() }, at);
      }
    });
    sightings.clear();
  };
  return {
    detect: ({ run, slice: { resource }, tables, requests, date }, body) => {
      lastRun = run.runId;
      const all = tables.flatMap((table) => table.rejected);
      const rejected = all.filter((item) => item.implausible === undefined);
      const implausible = [...requests, ...all].flatMap((item) => item.implausible ?? []);
      // An inferred declaration follows the responses, so they cannot differ from it.
      const watcher = catalogue.get(resource).generic === true ? null : watcherOf(resource);
      const drifted = watcher?.look(body, rejected) ?? [];
      const findings = keepNew(resource, [...drifted, ...findingsOf(implausible)], date);
      const learned = watcher?.takeKnowledge() ?? [];
      return findings.length + learned.length === 0 ? null : { resource, findings, knowledge: learned };
    },
    store: (runId, resource, implausible, at) => note(runId, resource, findingsOf(implausible), at),
    note,
    endRun,
    takeCounts: () => {
      const taken = counts;
      counts = noDrift();
      return taken;
    },
    close: async (at) => {
      if (lastRun !== null) await endRun(lastRun, false, at);
    },
  };
}

function noDrift(): DriftCounts {
  return {
    unknownFields: 0,
    vanishedFields: 0,
    changedTypes: 0,
    newValues: 0,
    implausibleValues: 0,
    newParameters: 0,
    newEndpoints: 0,
  };
}

function findingsOf(implausible: readonly Implausible[]): readonly Finding[] {
  const findings = createFindings();
  for (const { path, allowed, value, used } of implausible) {
    const detail = `allowed: ${allowed}${used === undefined ? '' : `; used: ${used}`}`;
    findings.add(null, path, 'implausible_value', detail, value);
  }
  return findings.take();
}

// Fields of the list, which its details repeat. Drift of these fields is reported for the list only.
function listedFields(catalogue: Catalogue, { change }: Resource): string[] {
  if (change.kind !== 'detail') return [];
  return catalogue.get(change.of).derived.flatMap(({ declaration }) => Object.keys(declaration.fields));
}
