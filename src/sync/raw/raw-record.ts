import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import { RUN_KINDS } from '../../warehouse/ledger/runs.ts';

const day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .nullable();
const time = z.number().int().min(-8.64e15).max(8.64e15);
const runRef = { runId: z.guid(), passId: z.guid() };
const values = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
const texts = z.record(z.string(), z.string());

const page = z.object({
  kind: z.literal('page'),
  ...runRef,
  resource: z.string(),
  slice: z.string(),
  /** Columns with values set by the request. */
  fixed: values,
  from: day,
  to: day,
  member: z.string().nullable(),
  path: z.string(),
  /** Parameters of the request, including the cursor. */
  query: texts,
  page: z.number().int().min(1),
  next: z.string().nullable(),
  untilKnown: z.boolean().optional(),
  /** Set if upstream reported that the list or page does not exist. */
  isMissing: z.literal(true).optional(),
  /** Limit of the slice's deletions; absent if there is none. */
  guard: z
    .object({
      counts: z.record(z.string(), z.number().int().min(0)).nullable(),
      keep: z.boolean(),
      lackedBefore: z.record(z.string(), z.array(z.string())).optional(),
    })
    .optional(),
  /** Upstream's time of the page, epoch milliseconds. */
  date: time,
});

const record = z.discriminatedUnion('kind', [
  page,
  z.object({
    kind: z.literal('begin'),
    ...runRef,
    options: z.string(),
    origin: z.object({ kind: z.preprocess(toRunKind, z.enum(RUN_KINDS)), trigger: z.string() }),
    date: time,
  }),
  z.object({ kind: z.literal('end'), ...runRef, totals: z.record(z.string(), z.unknown()), date: time }),
  /** Members that upstream reported as not found. */
  z.object({ kind: z.literal('gone'), resource: z.string(), keys: z.array(values), date: time }),
  /** Forms of responses that the specification leaves open. */
  z.object({ kind: z.literal('forms'), resource: z.string(), forms: texts, date: time }),
  /** An archived page that was not committed. */
  z.object({ kind: z.literal('void'), file: z.string(), position: z.number().int().min(0), date: time }),
]);

/** The first line of a record, which contains everything that a replay needs besides the body. */
export type RawRecord = z.infer<typeof record>;

/** The record of a page. */
export type RawPageRecord = z.infer<typeof page>;

/**
 * Parses the first line of a record. Files of earlier versions have other names: `chain` for the slice, and `look` for a run that plans.
 * @throws Error that names the invalid field
 */
export function toRawRecord(header: unknown): RawRecord {
  const { chain, ...given } = isRecord(header) ? header : {};
  const parsed = record.safeParse(chain === undefined ? given : { ...given, slice: chain });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`the first line is not a valid record (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`);
}

function toRunKind(kind: unknown): unknown {
  return kind === 'look' ? 'plan' : kind;
}

/** Describes a record for people who look at the file: for a page its slice, number and run. */
export function describeRecord(record: RawRecord): string {
  switch (record.kind) {
    case 'page':
      return `page ${record.page} of ${record.slice} in run ${record.runId}`;
    case 'begin':
    case 'end':
      return `${record.kind} of run ${record.runId}`;
    case 'void':
      return `void ${record.file} ${record.position}`;
    default:
      return `${record.kind} ${record.resource}`;
  }
}
