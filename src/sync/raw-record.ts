import { z } from 'zod';

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
  chain: z.string(),
  /** Columns that the request fixes. */
  fixed: values,
  from: day,
  to: day,
  member: z.string().nullable(),
  path: z.string(),
  /** Parameters of the request, the cursor included. */
  query: texts,
  page: z.number().int().min(1),
  next: z.string().nullable(),
  untilKnown: z.boolean().optional(),
  /** What limited the deletions of the chain; absent if nothing did. */
  guard: z.object({ counts: z.record(z.string(), z.number().int().min(0)).nullable(), keep: z.boolean() }).optional(),
  /** Upstream's time of the answer, epoch milliseconds. */
  date: time,
});

const record = z.discriminatedUnion('kind', [
  page,
  z.object({ kind: z.literal('begin'), ...runRef, options: z.string(), date: time }),
  z.object({ kind: z.literal('end'), ...runRef, totals: z.record(z.string(), z.unknown()), date: time }),
  /** Listed things that upstream said it no longer has. */
  z.object({ kind: z.literal('gone'), resource: z.string(), keys: z.array(values), date: time }),
  /** How answers look where the specification leaves it open. */
  z.object({ kind: z.literal('forms'), resource: z.string(), forms: texts, date: time }),
  /** A page that was kept and never committed. */
  z.object({ kind: z.literal('void'), file: z.string(), position: z.number().int().min(0), date: time }),
]);

/** A record of a raw file: what its first line says, which is all that a replay needs beside the body. */
export type RawRecord = z.infer<typeof record>;

/** A page's record. */
export type RawPageRecord = z.infer<typeof page>;

/** Reads a record's first line. Throws an Error that names what is wrong with it. */
export function toRawRecord(header: unknown): RawRecord {
  const parsed = record.safeParse(header);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`its first line is no record (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`);
}

/** What a record holds, in words, for who looks at the file: of a page its run, chain and number. */
export function describeRecord(record: RawRecord): string {
  switch (record.kind) {
    case 'page':
      return `page ${record.page} of ${record.chain} in run ${record.runId}`;
    case 'begin':
    case 'end':
      return `${record.kind} of run ${record.runId}`;
    case 'void':
      return `void ${record.file} ${record.position}`;
    default:
      return `${record.kind} ${record.resource}`;
  }
}
