import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { SCHEMA_VERSION } from '../../src/warehouse/schema.ts';
import { expectJson } from '../support/json-outputs.ts';
import { expectRefusal, shareCli } from './helpers.ts';

const COUNTS = `SELECT (SELECT count(*) FROM responses WHERE _deleted_at IS NULL) AS answers,
  (SELECT count(*) FROM response_citations) AS citations, (SELECT count(*) FROM prompts_history) AS prompts,
  (SELECT count(*) FROM sync.coverage) AS covered`;

const workspace = shareCli({ world: 'tiny' });
let held: Record<string, unknown>[];

beforeAll(async () => {
  held = await workspace.rows(COUNTS);
});

describe('replay', () => {
  test('rebuilds a lost warehouse from the stored raw pages only', async () => {
    const { done, rows, sandbox, data } = workspace;
    const sent = sandbox.requests.length;
    await rm(join(data, 'warehouse.duckdb'));
    await rm(join(data, 'analytics.duckdb'));
    const { stdout, stderr } = await done('replay', '--json');
    const path = join(data, 'warehouse.duckdb');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'complete', replaced: true, damages: [], missing: [], path });
    expect(stderr).toContain('without requests');
    expect(sandbox.requests.length).toBe(sent);
    expect(await rows(COUNTS)).toEqual(held);
  });

  test('replaces a warehouse of an older version, which all other commands reject, and keeps it', async () => {
    const { run, done, rows, sandbox, data } = workspace;
    for (const name of ['warehouse.duckdb', 'analytics.duckdb']) {
      const instance = await DuckDBInstance.create(join(data, name));
      const connection = await instance.connect();
      await connection.run("UPDATE sync.meta SET value = '1' WHERE name = 'schema_version'; CHECKPOINT");
      connection.closeSync();
      instance.closeSync();
    }
    const sent = sandbox.requests.length;
    const warehouse = join(data, 'warehouse.duckdb');
    const expected = `has schema version 1; this version of sightline reads version ${SCHEMA_VERSION}; run \`sightline replay\``;
    for (const command of ['sync', 'status', 'plan', 'runs']) {
      const { code, stderr } = await run(command);
      expect([command, code], stderr).toEqual([command, 1]);
      expect(stderr).toContain(`${warehouse} ${expected}`);
    }
    const doctor = await run('doctor', '--offline');
    expect(doctor.stdout).toMatch(/^failure +warehouse .*has schema version 1/m);
    const { stdout, stderr } = await done('replay', '--json');
    const { kept } = expectJson<{ kept: string }>('replay', stdout);
    expect(existsSync(kept)).toBe(true);
    expect(stderr).toContain(kept);
    expect(await readdir(data)).not.toContain('.temporary');
    expect(sandbox.requests.length).toBe(sent);
    expect(await rows(COUNTS)).toEqual(held);
    await done('status');
  });

  test('builds a separate file with --into and does not overwrite an existing one', async () => {
    const { run, done, folder } = workspace;
    const { stdout } = await done('replay', '--into', 'again.duckdb', '--only', 'brands');
    expect(stdout).toBe(`${join(folder, 'again.duckdb')}\n`);
    expectRefusal(await run('replay', '--into', 'again.duckdb', '--json'), 'usage', true);
  });

  test('rejects unknown resources', async () => {
    expectRefusal(await workspace.run('replay', '--only', 'nonsense', '--json'), 'usage', true);
  });
});
