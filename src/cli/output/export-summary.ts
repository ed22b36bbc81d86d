import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { shownTime } from '../../contract/time.ts';
import type { Exported } from '../../operations/export.ts';
import type { ExportedFiles } from '../../operations/export/export-files.ts';
import type { Publication } from '../../operations/publish.ts';
import { isWorkbook } from '../../publish/snapshot/file-formats.ts';
import type { PlainFile } from '../../publish/snapshot/plain-files.ts';
import { applyUserUmask, count, plural, printData, say, size } from './output.ts';

/** Returns the JSON form of a snapshot. Without `json` it also prints a summary and the path. */
export function renderSnapshot(
  { id: snapshotId, path, written, deleted, published, ...rest }: Exported,
  json: boolean,
) {
  const tables = rest.tables.map(({ name, rows, files, bytes }) => ({ name, rows, files: files.length, bytes }));
  if (!json) {
    const sum = (of: 'files' | 'bytes'): number => tables.reduce((total, table) => total + table[of], 0);
    const files = sum('files');
    sayTotals(tables, files, sum('bytes'));
    if (written.files < files) {
      const { files: changed, bytes: added } = written;
      say(`${plural(changed, 'file')} changed, ${size(added)}; the others are shared with the previous snapshot.`);
    }
    if (deleted.length > 0) say(`${plural(deleted.length, 'older snapshot')} deleted.`);
    if (published !== null) sayPublished(published, files);
    printData(path);
  }
  return { snapshotId, path, tables, written, deleted, ...(published === null ? {} : { published }) };
}

function sayPublished({ location, pointer, latest, sent, deleted }: Publication, files: number): void {
  const others = sent.files < files ? '; the others already existed' : '';
  say(`Published to ${location}: ${plural(sent.files, 'file')} sent, ${size(sent.bytes)}${others}.`);
  if (pointer === 'superseded') say(`latest.json still points to ${latest}, which has newer data.`);
  if (deleted.length > 0) say(`${plural(deleted.length, 'older snapshot')} deleted at ${location}.`);
}

/** Returns the JSON form of exported files. Without `json` it also prints a summary and the path. */
export async function renderFiles({ path, files, stale, changes }: ExportedFiles, isCut: boolean, json: boolean) {
  const tables = files.map(({ name, rows, bytes, sheet, changes: counts, time, cut }) => ({
    name,
    rows,
    files: 1,
    bytes,
    ...(sheet === undefined ? {} : { sheet }),
    ...(counts === undefined ? {} : { changes: counts }),
    ...(isCut ? { time, cut } : {}),
  }));
  const within = path === null || isWorkbook(path) ? [] : await readdir(path);
  if (path !== null) await applyUserUmask([path, ...within.map((name) => join(path, name))]);
  if (!json) {
    // A workbook has all tables.
    const distinct = new Map(files.map(({ file, bytes }) => [file, bytes]));
    const bytes = [...distinct.values()].reduce((total, of) => total + of, 0);
    sayTotals(files, distinct.size, bytes);
    if (changes !== null) sayChanges(files, changes);
    if (isCut) sayCut(files);
  }
  if (stale) say('A sync owns the warehouse: the files are from the replica.');
  if (path !== null && !json) printData(path);
  return { snapshotId: null, path, tables, ...(changes === null ? {} : { changes }) };
}

function sayChanges(files: readonly PlainFile[], { since }: NonNullable<ExportedFiles['changes']>): void {
  const sum = (of: 'insert' | 'update' | 'delete'): string =>
    count(files.reduce((total, { changes }) => total + (changes?.[of] ?? 0), 0));
  const from = since === null ? 'from the start' : `since ${since.snapshot ?? shownTime(since.at)}`;
  say(`Changes ${from}: ${sum('insert')} inserted, ${sum('update')} updated, ${sum('delete')} deleted.`);
}

function sayTotals(tables: readonly { readonly rows: number }[], files: number, bytes: number): void {
  const rows = tables.reduce((total, table) => total + table.rows, 0);
  say(`${plural(tables.length, 'table')}, ${count(rows)} rows, ${plural(files, 'file')}, ${size(bytes)}`);
}

function sayCut(files: readonly PlainFile[]): void {
  const complete = files.filter(({ time }) => time === null);
  if (complete.length > 0) {
    say(`Exported completely, because their rows have no day: ${complete.map(({ name }) => name).join(', ')}.`);
  }
  const omitted = files.filter(({ cut }) => cut.omitted > 0);
  if (omitted.length > 0) {
    const counts = omitted.map(({ name, cut }) => `${name} ${count(cut.omitted)}`);
    say(`Rows left out, because none of their days is selected: ${counts.join(', ')}.`);
  }
  for (const { name, cut } of files.filter((file) => file.cut.partial > 0)) {
    const days = `${cut.from} to ${cut.to}`;
    say(`${name} covers ${days}: ${count(cut.partial)} of its rows are for periods that are only partly selected.`);
  }
}
