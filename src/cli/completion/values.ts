import type { Candidate } from './candidates.ts';

/** Where values come from, by what placeholders for them are called. Loaded when they are asked for: a key was pressed. */
const sources: Readonly<Record<string, () => Promise<readonly Candidate[]>>> = {
  workspace: async () => {
    const [{ listWorkspaces }, { readSurroundings }] = await Promise.all([
      import('../../base/config.ts'),
      import('../context.ts'),
    ]);
    return listWorkspaces(readSurroundings()).map((word) => ({ word, about: '' }));
  },
  resource: async () => {
    const { catalogue } = await import('../../app/workspace.ts');
    return catalogue.resources.map(({ name, about }) => ({ word: name, about }));
  },
  table: async () => {
    const [{ catalogue }, { MART_SCHEMA, marts }] = await Promise.all([
      import('../../app/workspace.ts'),
      import('../../metrics/marts/marts.ts'),
    ]);
    const views = marts().map(({ name, about }) => ({ name: `${MART_SCHEMA}.${name}`, about }));
    return [...catalogue.tables, ...catalogue.histories, ...views].map(({ name, about }) => ({ word: name, about }));
  },
  job: async () => {
    const [{ jobsOf }, { readConfig }] = await Promise.all([import('../../app/jobs.ts'), import('../context.ts')]);
    return jobsOf(readConfig({})).map(({ name, about }) => ({ word: name, about }));
  },
};

/** What placeholders of this kind can stand for here; nothing where that is not known, or cannot be read. */
export async function valuesHere(kind: string): Promise<readonly Candidate[]> {
  try {
    return (await sources[kind]?.()) ?? [];
  } catch {
    // Settings that are wrong are told by the command; here they would only get into the line that is typed.
    return [];
  }
}
