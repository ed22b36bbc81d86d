import { existsSync } from 'node:fs';
import { z } from 'zod';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { describeIssue } from '../base/config/setting-schema.ts';
import { SightlineError } from '../base/errors.ts';
import { fileIdentity } from '../base/files.ts';
import { quotedArgument } from '../base/visible.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { MARK_KINDS, OWNER_MARKS, STATE_MARKS } from '../metrics/explain/mark-kinds.ts';
import { hostOfDomain } from '../metrics/marts/formulas.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { LiveMarks } from '../read/open-replica.ts';
import { changePrivateFile, type PrivateFile, readPrivateFile } from './private-file.ts';

/** Maximum number of marks in the file of a workspace, including replaced ones. */
const MARKS_MAX = 5_000;

/** A mark of a domain, an action or an opportunity. */
const mark = z.strictObject({
  brandId: z.guid().describe('the id of a brand'),
  kind: z.enum(MARK_KINDS),
  /** Domain, action, prompt, thread or page. */
  id: z.string().min(1).max(4_000).describe('a domain, or the id of what is marked'),
  /** Owner of a domain, or `done` or `hidden`; null takes the mark back. */
  value: z
    .string()
    .min(1)
    .max(200)
    .nullable()
    .describe(`${Object.keys(OWNER_MARKS).join(', ')} or the id of a competitor; ${STATE_MARKS.join(' or ')}; null`),
  at: z.iso.datetime(),
  /** Name of the key; null for the owner of the folder. */
  by: z.string().nullable(),
});
const fileSchema = z.strictObject({ version: z.literal(1), marks: z.array(mark) });

/** A mark with its time and the key that set it. */
export type Mark = ValueOf<typeof mark>;

/** Returns the marks of a workspace with their history, oldest first. */
export function readMarks(folder: string): readonly Mark[] {
  return readPrivateFile(markFile(folder))?.marks ?? [];
}

/** True if the marks of readers are in the folder; with a home, they may be on another machine. */
export function hasMarks(folder: string): boolean {
  return existsSync(layoutOf(folder).marks);
}

/**
 * Adds a mark to the history of a workspace. A new file begins with the marks in `stored`.
 *
 * @throws SightlineError `invalid_parameter` for an invalid mark, or if the workspace has too many
 */
export async function addMark(folder: string, given: object, stored: readonly Mark[] = []): Promise<Mark> {
  const parsed = mark.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues as [z.core.$ZodIssue];
    throw invalid(describeIssue(mark, issue, given, ''));
  }
  const { kind, id } = parsed.data;
  const added = {
    ...parsed.data,
    brandId: parsed.data.brandId.toLowerCase(),
    id: kind === 'domain' ? hostOfDomain(id) : id,
  };
  const states: readonly string[] = STATE_MARKS;
  if (added.kind !== 'domain' && added.value !== null && !states.includes(added.value)) {
    throw invalid(`value is ${JSON.stringify(added.value)}; allowed: ${states.join(', ')}, null`);
  }
  return changePrivateFile(markFile(folder, stored), ({ version, marks }) => {
    if (marks.length >= MARKS_MAX) {
      const file = quotedArgument(layoutOf(folder).marks);
      throw invalid(
        `the workspace has ${marks.length} marks; allowed: ${MARKS_MAX}; remove replaced ones from ${file}`,
      );
    }
    return { after: { version, marks: [...marks, added] }, result: added };
  });
}

/**
 * Returns the current marks as JSON for mart.marks: the setting `domains`, then the last mark of each item. Also returns whether the marks
 * of readers are unknown: with a home, the file is on another machine; it may also be damaged.
 */
export function currentMarks({
  folder,
  domains,
}: Pick<WorkspaceConfig, 'folder' | 'domains'>): readonly [json: string, areUnknown: boolean] {
  const marks = knownMarks(folder);
  const last = new Map(marks?.map((one) => [JSON.stringify([one.brandId, one.kind, one.id]), one]));
  const json = JSON.stringify([
    ...Object.entries(domains).map(([id, value]) => ({ brand: null, kind: 'domain', id, value })),
    ...[...last.values()].flatMap(({ brandId, kind, id, value }) =>
      value === null ? [] : [{ brand: brandId, kind, id, value }],
    ),
  ]);
  return [json, marks === null];
}

// A damaged file stops no sync and no reader: the stored marks stay, and the next mark reports it.
function knownMarks(folder: string): readonly Mark[] | null {
  try {
    return hasMarks(folder) ? readMarks(folder) : null;
  } catch {
    return null;
  }
}

/** Returns the marks of a workspace for the connections of its replica. */
export function liveMarks(config: Pick<WorkspaceConfig, 'folder' | 'domains'>): LiveMarks {
  const { path } = markFile(config.folder);
  return {
    version: () => fileIdentity(path),
    read: () => {
      const [json, areUnknown] = currentMarks(config);
      return areUnknown ? null : json;
    },
  };
}

function markFile(folder: string, stored: readonly Mark[] = []): PrivateFile<z.infer<typeof fileSchema>> {
  const path = layoutOf(folder).marks;
  const file = quotedArgument(path);
  return {
    path,
    schema: fileSchema,
    work: 'is changing the marks',
    create: () => ({ version: 1, marks: [...stored] }),
    advice: `run \`mv ${file} ${file}.damaged\``,
  };
}

function invalid(message: string): SightlineError {
  return new SightlineError('invalid_parameter', message);
}
