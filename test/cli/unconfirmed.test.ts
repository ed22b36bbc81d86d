import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startLiar } from '../hostile/liar.ts';
import { runCommand } from '../support/run-command.ts';
import { openCli } from './helpers.ts';

test('an unconfirmed deletion stops the export of a job, is shown by status and doctor, and is released when accepted', async () => {
  const workspace = await openCli({ prompts: 12, days: 1, responsesPerDay: 5 });
  const liar = await startLiar(workspace.sandbox.baseUrl);
  const env = { ...workspace.env, SIGHTLINE_BASE_URL: liar.baseUrl };
  const run = (...args: string[]) => runCommand(args, { cwd: workspace.folder, env });
  const snapshots = join(workspace.data, 'snapshots');
  const night = { cron: '0 5 * * *', steps: [{ do: 'sync', only: ['prompts'] }, 'export'] };
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ jobs: { night } }));

  expect(await run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  liar.tell((exchange) => {
    if (!exchange.path.endsWith('/prompts') || exchange.path.includes('/metrics/')) return;
    exchange.edit((body) => ({ ...body, data: body.data.slice(0, 4) }));
  });
  const job = await run('jobs', 'run', 'night', '--json');
  expect(job.code, job.stderr).toBe(3);
  const { steps } = JSON.parse(job.stdout) as { steps: { step: string; status: string; error: string | null }[] };
  expect(steps.find(({ step }) => step === 'export')).toMatchObject({
    status: 'partial',
    error: expect.stringContaining('not exported: upstream no longer lists 8 of 12 stored rows of prompts'),
  });
  expect(existsSync(snapshots)).toBe(false);

  const status = await run('status');
  expect(status.stdout).toMatch(/unconfirmed +upstream no longer lists 8 of 12 stored rows of prompts/);
  const { data } = JSON.parse((await run('status', '--json')).stdout) as { data: { unconfirmedDeletions: unknown[] } };
  expect(data.unconfirmedDeletions).toMatchObject([{ resource: 'prompts', before: 12, lost: 8 }]);
  const doctor = await run('doctor', '--offline');
  expect(doctor.stdout).toMatch(/8 of 12 stored rows of prompts.*\n.*--accept-deletions/);

  const accepted = await run('sync', '--only', 'prompts', '--accept-deletions');
  expect(accepted.code, accepted.stderr).toBe(0);
  expect(accepted.stderr).toContain('8 deleted');
  const exported = await run('jobs', 'run', 'night', '--json');
  expect(exported.code, exported.stderr).toBe(0);
  expect(existsSync(snapshots)).toBe(true);
});
