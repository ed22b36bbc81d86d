import { expect, it } from 'vitest';
import { openCli } from '../cli/helpers.ts';
import { countOf } from '../support/counts.ts';
import { runCommand } from '../support/run-command.ts';
import { worldClock } from '../support/worlds.ts';
import { startLiar } from './liar.ts';

const REQUESTS = countOf(4, 12);

it('a byte order mark before bodies and unpaired surrogates in texts are no difference and do not stop calibration', async () => {
  const { sandbox, env, folder } = await openCli({ world: 'tiny' });
  const liar = await startLiar(sandbox.baseUrl);
  liar.tell((exchange) => {
    if (exchange.status !== 200) return;
    const text = exchange.body.toString().replaceAll('"title":"', '"title":"\\ud800 ');
    exchange.body = Buffer.from(`\ufeff${text}`);
  });
  const run = async (line: string) => {
    const surroundings = {
      cwd: folder,
      env: { ...env, SIGHTLINE_BASE_URL: liar.baseUrl, SIGHTLINE_CALIBRATION_PROBES: '2' },
      clock: worldClock(),
    };
    const { code, stdout, stderr } = await runCommand([...line.split(' '), '--json'], surroundings);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  expect(await run('sync --full')).toMatchObject({ status: 'complete', failures: [] });
  const comparison = await run(`compare --requests ${REQUESTS}`);
  expect(comparison).toMatchObject({ compared: REQUESTS, equal: REQUESTS, differing: [] });
});
