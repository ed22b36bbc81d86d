import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { publishByRename, syncToDisk } from '../base/files.ts';
import { type GenericForm, toGenericForm } from '../contract/generic/generic-form.ts';

/** Reads the inferred declarations of a workspace; none if there is no readable file. The warehouse has them too. */
export function readStoredForms(path: string): readonly GenericForm[] {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(value) ? value.flatMap((form: unknown) => toGenericForm(form) ?? []) : [];
  } catch {
    return [];
  }
}

/**
 * Returns a function that identifies the contents of the file with the inferred declarations. It reads the file only after the file was
 * replaced.
 */
export function createFormsVersion(path: string): () => string {
  let known = { file: '', version: '' };
  return () => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    const file = stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`;
    if (file !== known.file) known = { file, version: hashOf(readStoredForms(path)) };
    return known.version;
  };
}

function hashOf(forms: readonly GenericForm[]): string {
  return createHash('sha256').update(JSON.stringify(forms)).digest('hex');
}

/** Stores the inferred declarations beside the replica that was made with them. Writes nothing if they are unchanged. */
export async function storeForms(path: string, forms: readonly GenericForm[]): Promise<void> {
  const text = `${JSON.stringify(forms)}\n`;
  const before = await readFile(path, 'utf8').catch(() => null);
  if (before === text || (before === null && forms.length === 0)) return;
  const aside = `${path}.new`;
  await writeFile(aside, text);
  await syncToDisk(aside);
  await publishByRename(aside, path);
}
