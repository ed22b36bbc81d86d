import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogueTables } from '../../../src/publish/snapshot/exported-table.ts';
import { exportTables, type Lane } from '../../../src/publish/snapshot/table-export.ts';
import type { Session } from '../../../src/warehouse/database.ts';
import { openScratch } from '../../../src/warehouse/scratch.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';

let workspace: OddWorkspace;

beforeAll(async () => {
  workspace = await openOddWorkspace();
});

afterAll(() => workspace.close());

test('after an error in one session, no statement begins in any session, and the error is thrown when all are idle', async () => {
  const { database, catalogue } = workspace;
  const named = (name: string) =>
    catalogueTables(catalogue)
      .filter((table) => table.name === name)
      .map((table) => ({ ...table, source: `"${name}"` }));
  const tables = [...named('brands'), ...named('responses'), ...named('prompts'), ...named('response_citations')];
  const folder = await temporaryFolder();
  const begun: string[] = [];
  const running = new Set<string>();
  let fail = (): void => undefined;
  const failed = new Promise<void>((resolve) => {
    fail = resolve;
  });
  const watched = (session: Session): Session => {
    const during = async <T>(sql: string, work: () => Promise<T>): Promise<T> => {
      begun.push(sql);
      running.add(sql);
      try {
        if (sql.startsWith('COPY') && sql.includes('/brands/')) {
          fail();
          throw new Error('stop');
        }
        // The scan of the other session ends after the failure.
        if (sql.includes('FROM "responses"') && !sql.startsWith('COPY')) await failed;
        return await work();
      } finally {
        running.delete(sql);
      }
    };
    return {
      ...session,
      run: (sql, parameters) => during(sql, () => session.run(sql, parameters)),
      all: (sql, parameters) => during(sql, () => session.all(sql, parameters)),
    };
  };
  const scratch = await openScratch({ memoryLimitMb: 64, temporaryFolder: folder });
  await database.readTogether(2, async (sessions) => {
    const lanes: Lane[] = sessions.map((session) => ({ session: watched(session), scratch }));
    const exporting = exportTables(tables, {
      folder,
      previous: null,
      form: { compression: 'snappy' },
      month: '2026-11',
      contents: null,
      lanes,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
    await expect(exporting).rejects.toThrow('stop');
    expect([...running]).toEqual([]);
    expect(begun.at(-1)).toContain('/brands/aside-');
    const count = begun.length;
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(begun.length).toBe(count);
  });
  scratch.close();
});
