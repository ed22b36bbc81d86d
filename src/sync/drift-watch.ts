import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { createDriftWatcher, type DriftWatcher } from '../contract/drift.ts';
import type { DriftKind } from '../contract/drift-findings.ts';
import type { Rejected } from '../contract/rows.ts';
import {
  countDrift,
  type DriftNotes,
  readDriftMemory,
  type Sighting,
  sightingIdentity,
  writeDrift,
} from '../warehouse/drift.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** How much drift a run met that no run had met before. */
export interface DriftCounts {
  unknownFields: number;
  vanishedFields: number;
  changedTypes: number;
  newValues: number;
}

/** Watches all answers of a run for drift. */
export interface DriftWatch {
  /** What of a page is to be written with it; null for most pages. */
  look(resource: string, body: unknown, rejected: readonly Rejected[], at: number): DriftNotes | null;
  /** Writes how often things were seen that are known already; after a `complete` run, what is new later is drift. */
  close(runId: string, complete: boolean, at: number): Promise<void>;
  /** What was met for the first time since this was asked last. */
  takeCounts(): DriftCounts;
}

/** Rows of sync.drift at most: an upstream that makes up names would find no end. */
const ROWS_MAX = 2000;

const countOf: Readonly<Record<DriftKind, keyof DriftCounts>> = {
  unknown_field: 'unknownFields',
  vanished_field: 'vanishedFields',
  changed_type: 'changedTypes',
  new_value: 'newValues',
};

/** Opens a watch with what earlier runs have learned. */
export async function openDriftWatch(catalogue: Catalogue, warehouse: Warehouse): Promise<DriftWatch> {
  const { knowledge, known } = await readDriftMemory(warehouse.database);
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
  return {
    takeCounts: () => {
      const taken = counts;
      counts = noDrift();
      return taken;
    },
    look: (resource, body, rejected, at) => {
      const watcher = watcherOf(resource);
      const findings = watcher.look(body, rejected).filter((finding) => {
        const identity = sightingIdentity(resource, finding);
        const isKnown = known.has(identity);
        // What is known costs a page nothing: it is counted here and written at the end.
        if (isKnown) {
          const count = (sightings.get(identity)?.finding.count ?? 0) + finding.count;
          sightings.set(identity, { resource, finding: { ...finding, count }, at });
        } else if (known.size < ROWS_MAX) {
          known.add(identity);
          counts[countOf[finding.kind]] += 1;
          return true;
        }
        return false;
      });
      const learned = watcher.takeKnowledge();
      return findings.length + learned.length === 0 ? null : { resource, findings, knowledge: learned };
    },
    close: async (runId, complete, at) => {
      await warehouse.database.transaction(async (session) => {
        await countDrift(session, runId, sightings.values());
        for (const [resource, watcher] of watchers) {
          if (complete) watcher.settle();
          await writeDrift(session, runId, { resource, findings: [], knowledge: watcher.takeKnowledge() }, at);
        }
      });
      sightings.clear();
    },
  };
}

function noDrift(): DriftCounts {
  return { unknownFields: 0, vanishedFields: 0, changedTypes: 0, newValues: 0 };
}

// A detail repeats the fields of its list; the list has the say about them.
function listedFields(catalogue: Catalogue, { change }: Resource): string[] {
  if (change.kind !== 'detail') return [];
  return catalogue.get(change.of).derived.flatMap(({ declaration }) => Object.keys(declaration.fields));
}
