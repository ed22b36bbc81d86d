import type { Question, Running } from '../../query/service.ts';

/** Member of every result that describes its data. Some clients show only the structured content to a model. */
export const NOTE = '_sightline';

/** Description of a result: freshness and completeness of the data, and what was left out. */
export interface Note {
  /** When upstream last confirmed the data, ISO 8601; null if they were never synced. */
  readonly asOf: string | null;
  /** `partial` if some data were never read completely. */
  readonly coverage: 'complete' | 'partial';
  /** Requests done and expected by the sync that is running, as `118/195`; absent if none is. */
  readonly progress?: string;
  /** Sentences about rows and texts that are left out, and how to get them; absent if the result is complete. */
  readonly omitted?: string;
  /** Sentences about the result; absent if there are none. */
  readonly remarks?: readonly string[];
}

/** Describes a result like the headers of REST. */
export function noteOf(
  { asOf, partial }: Question,
  running: Running | null,
  omitted: readonly string[],
  remarks: readonly string[],
): Note {
  const all = [
    ...(partial ? ['Some data were never read completely: rows may be missing, numbers too low.'] : []),
    ...remarks,
  ];
  return {
    asOf: asOf === null ? null : new Date(asOf).toISOString(),
    coverage: partial ? 'partial' : 'complete',
    ...(running === null ? {} : { progress: `${running.done}/${running.expected}` }),
    ...(omitted.length === 0 ? {} : { omitted: omitted.join(' ') }),
    ...(all.length === 0 ? {} : { remarks: all }),
  };
}
