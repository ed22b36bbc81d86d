import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Runner } from '../../src/jobs/runner.ts';
import {
  checkSharedFolder,
  recordSharedFolder,
  rejectLocalWarehouses,
} from '../../src/operations/cluster/shared-folder.ts';
import { temporaryFolder } from '../support/folders.ts';

const queue = { kind: 'postgres', url: 'postgres://localhost', urlVariable: 'QUEUE_URL', sharedFolder: false } as const;

async function configsIn(folder: string, file: object = {}) {
  await mkdir(folder, { recursive: true });
  const workspaces = Object.fromEntries(
    ['a', 'b'].map((name) => [name, { baseUrl: 'https://api.example/v1', apiKeyVariable: 'KEY' }]),
  );
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces, ...file }));
  return ['a', 'b'].map((workspace) => loadConfig({ flags: { workspace }, environment: {}, folder }));
}

/** The folder that a queue has recorded. */
function queueWith(recorded: string | null) {
  let kept = recorded;
  const runner = {
    recordedFolder: async () => kept,
    recordFolder: async (folder: string, replaces: boolean) => {
      kept = replaces ? folder : (kept ?? folder);
      return kept;
    },
  };
  return runner as unknown as Runner;
}

test('only workspaces with a local warehouse are rejected, and only with a queue that several machines may share', async () => {
  const folder = await temporaryFolder();
  const [a, b] = await configsIn(folder);
  if (a === undefined || b === undefined) throw new Error('there are two');
  const away = { ...b, home: 'lake' };
  expect(rejectLocalWarehouses(queue, [a, away])).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^home is not set for workspace a \(.*\/data\/a\), and runner is "postgres"/),
  });
  const many = Array.from({ length: 30 }, (_, index) => ({ ...a, name: `w${index}` }));
  expect(rejectLocalWarehouses(queue, many)?.message).toContain('workspaces w0, w1, w2, w3, w4 and 25 more');
  expect(rejectLocalWarehouses(queue, [away])).toBeNull();
  expect(rejectLocalWarehouses({ ...queue, sharedFolder: true }, [a, away])).toBeNull();
  expect(rejectLocalWarehouses({ kind: 'process' }, [a, b])).toBeNull();
});

test('a queue accepts only the recorded folder and not a copy of it, until the folder is moved', async () => {
  const [folder, other] = [await temporaryFolder(), await temporaryFolder()];
  const configs = await configsIn(folder);
  const runner = queueWith(null);
  expect(await checkSharedFolder(runner, configs)).toBe(false);
  // Workers that start at the same time agree on the folder's ID.
  await Promise.all([1, 2, 3].map(() => recordSharedFolder(runner, configs, { moves: false })));
  expect(await checkSharedFolder(runner, configs)).toBe(true);
  await cp(folder, other, { recursive: true });
  const copied = await configsIn(other);
  const refusal = { code: 'config_invalid', message: expect.stringContaining(`${folder}/data on `) };
  await expect(checkSharedFolder(runner, copied)).rejects.toMatchObject(refusal);
  await expect(recordSharedFolder(runner, copied, { moves: false })).rejects.toMatchObject(refusal);
  await recordSharedFolder(runner, copied, { moves: true });
  await expect(recordSharedFolder(runner, configs, { moves: false })).rejects.toMatchObject({
    message: expect.stringContaining(`${other}/data on `),
  });
});

test.each(['', '{}', '{"id":1}', 'null'])('a queue whose folder record is %j is rejected', async (recorded) => {
  const configs = await configsIn(await temporaryFolder());
  await expect(recordSharedFolder(queueWith(recorded), configs, { moves: false })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('an unreadable folder record'),
  });
});
