import { statSync } from 'node:fs';
import { z } from 'zod';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { quotedArgument } from '../base/visible.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { MARK_KINDS, STATE_MARKS } from '../metrics/explain/mark-kinds.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { LiveMarks } from '../read/open-replica.ts';
import { changePrivateFile, type PrivateFile, readPrivateFile } from './private-file.ts';

/** Marks in the file of a workspace, with those that later ones replace. */
const MARKS_MAX = 5_000;

/** What a reader said about a domain, an action or an opportunity. */
const mark = z.strictObject({
  brandId: z.guid(),
  kind: z.enum(MARK_KINDS),
  /** Domain, action, prompt, thread or page. */
  id: z.string().min(1).max(2_000),
  /** Owner of a domain, or `done` or `hidden`; null takes the mark back. */
  value: z.string().min(1).max(200).nullable(),
  at: z.iso.datetime(),
  /** Name of the key; null for the owner of the folder. */
  by: z.string().nullable(),
});
const fileSchema = z.strictObject({ version: z.literal(1), marks: z.array(mark) });

/** What a reader said, when, and who it was. */
export type Mark = ValueOf<typeof mark>;

/** Returns the marks of a workspace with their history, oldest first. */
export function readMarks(folder: string): readonly Mark[] {
  return readPrivateFile(markFile(folder))?.marks ?? [];
}

/**
 * Adds a mark to the history of a workspace.
 *
 * @throws SightlineError `invalid_parameter` for an invalid mark, or if the workspace has too many
 */
export async function addMark(folder: string, given: object): Promise<Mark> {
  const parsed = mark.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`${issue?.path.join('.') || 'the mark'} is invalid; allowed: brandId, kind, id, value`);
  }
  const added = parsed.data;
  const states: readonly string[] = STATE_MARKS;
  if (added.kind !== 'domain' && added.value !== null && !states.includes(added.value)) {
    throw invalid(`value is ${JSON.stringify(added.value)}; allowed: ${states.join(', ')}, null`);
  }
  return changePrivateFile(markFile(folder), ({ version, marks }) => {
    if (marks.length >= MARKS_MAX) throw invalid(`the workspace has ${marks.length} marks; allowed: ${MARKS_MAX}`);
    return { after: { version, marks: [...marks, added] }, result: added };
  });
}

/** Returns the marks that count, as mart.marks reads them: those of the setting `domains`, then the last one of each thing. */
export function currentMarks({ folder, domains }: Pick<WorkspaceConfig, 'folder' | 'domains'>): string {
  const last = new Map(readMarks(folder).map((one) => [JSON.stringify([one.brandId, one.kind, one.id]), one]));
  return JSON.stringify([
    ...Object.entries(domains).map(([id, value]) => ({ brand: null, kind: 'domain', id, value })),
    ...[...last.values()].flatMap(({ brandId, kind, id, value }) =>
      value === null ? [] : [{ brand: brandId, kind, id, value }],
    ),
  ]);
}

/** Returns the marks of a workspace for the connections of its replica. */
export function liveMarks(config: Pick<WorkspaceConfig, 'folder' | 'domains'>): LiveMarks {
  const { path } = markFile(config.folder);
  return {
    version: () => {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
      return stats === undefined ? '' : `${stats.ino}:${stats.mtimeNs}`;
    },
    read: () => currentMarks(config),
  };
}

function markFile(folder: string): PrivateFile<z.infer<typeof fileSchema>> {
  const path = layoutOf(folder).marks;
  const file = quotedArgument(path);
  return {
    path,
    schema: fileSchema,
    work: 'is changing the marks',
    create: () => ({ version: 1, marks: [] }),
    advice: `run \`mv ${file} ${file}.damaged\``,
  };
}

function invalid(message: string): SightlineError {
  return new SightlineError('invalid_parameter', message);
}
