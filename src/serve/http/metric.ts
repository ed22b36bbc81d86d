import type { Observation } from '../monitored.ts';

/** A value with its labels; what has none is absent. */
export type Sample = readonly [value: number | null | undefined, labels?: Readonly<Record<string, string>>];

/** A metric of a workspace, and how it is read from what was observed. */
export interface Declaration {
  readonly name: string;
  readonly help: string;
  /** Default: gauge. A counter's values are those of the ledger, which only grows. */
  readonly kind?: 'counter';
  readonly labels?: readonly string[];
  read(observation: Observation): readonly Sample[];
}

type Copy = NonNullable<Observation['copy']>;

/** Reads samples from the copy; none where it cannot be read. */
export const ofCopy = (read: (copy: Copy) => readonly Sample[]) => (observation: Observation) =>
  observation.copy === null ? [] : read(observation.copy);

/** A sample for each name, under the label. */
export const byName = (label: string, values: ReadonlyMap<string, number>): Sample[] =>
  [...values].map(([name, value]) => [value, { [label]: name }]);

/** Seconds, which is what metrics are in. */
export const seconds = (ms: number | null | undefined): number | null =>
  ms === null || ms === undefined ? null : ms / 1000;
