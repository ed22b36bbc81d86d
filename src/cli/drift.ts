import type { DriftCounts } from '../sync/drift-watch.ts';
import { plural } from './output.ts';

/** What upstream has changed, in a line for people; null when nothing was new. */
export function driftLine(drift: DriftCounts | undefined): string | null {
  if (drift === undefined) return null;
  const { unknownFields, vanishedFields, changedTypes, newValues, implausibleValues } = drift;
  const counts: readonly (readonly [number, string])[] = [
    [unknownFields, 'unknown field'],
    [vanishedFields, 'vanished field'],
    [changedTypes, 'changed type'],
    [newValues, 'new value'],
    [implausibleValues, 'implausible value'],
  ];
  const said = counts.flatMap(([found, noun]) => (found === 0 ? [] : [plural(found, noun)]));
  return said.length === 0 ? null : `upstream has changed: ${said.join(', ')}: select * from sync.drift`;
}
