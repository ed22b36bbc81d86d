import type { Candidate } from './completion-candidates.ts';

/** Loads values by the name of their placeholder. Modules are imported on demand, because each completion starts the program. */
const sources: Readonly<Record<string, () => Promise<readonly Candidate[]>>> = {
  workspace: async () => {
    const [{ listWorkspaces }, { readSurroundings }] = await Promise.all([
      import('../../base/config/workspace-names.ts'),
      import('../context.ts'),
    ]);
    return listWorkspaces(readSurroundings()).map((word) => ({ word, about: '' }));
  },
  resource: async () => {
    const [{ catalogueOf }, { readConfig }] = await Promise.all([
      import('../../session/catalogues.ts'),
      import('../context.ts'),
    ]);
    return catalogueOf(readConfig({})).resources.map(({ name, about }) => ({ word: name, about }));
  },
  table: async () => {
    const [{ catalogueOf }, { readConfig }, { MART_SCHEMA, marts }, { hasNumbers }] = await Promise.all([
      import('../../session/catalogues.ts'),
      import('../context.ts'),
      import('../../analytics/marts/marts.ts'),
      import('../../contract/catalogue.ts'),
    ]);
    const catalogue = catalogueOf(readConfig({}));
    const views = (hasNumbers(catalogue) ? marts() : []).map(({ name, about }) => ({
      name: `${MART_SCHEMA}.${name}`,
      about,
    }));
    return [...catalogue.tables, ...catalogue.histories, ...views].map(({ name, about }) => ({ word: name, about }));
  },
  job: async () => {
    const [{ jobsOf }, { readConfig }] = await Promise.all([
      import('../../operations/jobs/job-list.ts'),
      import('../context.ts'),
    ]);
    return jobsOf(readConfig({})).map(({ name, about }) => ({ word: name, about }));
  },
};

/** Returns the values of a placeholder; none if it is unknown or its values cannot be read. */
export async function valuesHere(kind: string): Promise<readonly Candidate[]> {
  try {
    return (await sources[kind]?.()) ?? [];
  } catch {
    // The command itself reports invalid settings. A message here would appear in the line that the user is typing.
    return [];
  }
}
