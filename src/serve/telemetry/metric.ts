import type { Observation } from '../../read/observer.ts';

/** A value with its labels; a null or undefined value is left out. */
export type Sample = readonly [value: number | null | undefined, labels?: Readonly<Record<string, string>>];

/** A metric of a workspace, and how to read it from an observation. */
export interface Declaration {
  readonly name: string;
  readonly help: string;
  /** Default: gauge. A counter's values come from the ledger, which only grows. */
  readonly kind?: 'counter';
  readonly labels?: readonly string[];
  read(observation: Observation): readonly Sample[];
}

type ObservedReplica = NonNullable<Observation['replica']>;

/** Reads samples from the replica; returns none if it cannot be read. */
export const ofReplica = (read: (replica: ObservedReplica) => readonly Sample[]) => (observation: Observation) =>
  observation.replica === null ? [] : read(observation.replica);

/** Returns one sample per name, under the given label. */
export const byName = (label: string, values: ReadonlyMap<string, number>): Sample[] =>
  [...values].map(([name, value]) => [value, { [label]: name }]);

/** Converts milliseconds to seconds, the unit of metrics. */
export const seconds = (ms: number | null | undefined): number | null =>
  ms === null || ms === undefined ? null : ms / 1000;
