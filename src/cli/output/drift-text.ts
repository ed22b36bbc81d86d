import type { DriftCounts } from '../../sync/drift-watch.ts';
import { plural } from './output.ts';

/** Summarizes new drift in upstream's responses in one line; null if there is none. */
export function driftLine(drift: DriftCounts | undefined): string | null {
  if (drift === undefined) return null;
  const { unknownFields, vanishedFields, changedTypes, newValues, implausibleValues, newParameters, newEndpoints } =
    drift;
  const counts: readonly (readonly [number, string])[] = [
    [unknownFields, 'unknown field'],
    [vanishedFields, 'vanished field'],
    [changedTypes, 'changed type'],
    [newValues, 'new value'],
    [implausibleValues, 'implausible value'],
    [newParameters, 'new parameter'],
    [newEndpoints, 'new endpoint'],
  ];
  const parts = counts.flatMap(([found, noun]) => (found === 0 ? [] : [plural(found, noun)]));
  return parts.length === 0 ? null : `upstream has changed: ${parts.join(', ')}; see select * from sync.drift`;
}
