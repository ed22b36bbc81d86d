import { startSandboxWorkspace, type WorkspaceOptions } from '../../../schemas/fixtures/start.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { LIMIT_MAX, LIMIT_MIN } from '../../plausibility/rate-headers.ts';
import { parseFaults } from '../../sandbox/faults.ts';
import { toInteger } from '../context.ts';
import { printData, say } from '../output/output.ts';

/** Flags of `sandbox`. */
export interface SandboxFlags {
  readonly port: string;
  readonly seed: string;
  readonly brands: string;
  readonly prompts: string;
  readonly days: string;
  readonly responsesPerDay?: string;
  readonly rateLimit: string;
  readonly window: string;
  readonly latencyMs: string;
  readonly faults?: string;
  readonly json?: boolean;
}

/** Runs `sightline sandbox` until the signal is aborted, and returns its exit code. */
export async function sandbox(flags: SandboxFlags, signal: AbortSignal): Promise<number> {
  const options = toOptions(flags);
  let server: Awaited<ReturnType<typeof startSandboxWorkspace>>;
  try {
    server = await startSandboxWorkspace(options);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw thrown;
    const why = code === 'EADDRINUSE' ? 'is in use' : 'requires more privileges than this user has';
    throw new SightlineError('usage', `--port ${flags.port} ${why}; allowed: a free port, or 0 for any`);
  }
  if (flags.json === true) printData(JSON.stringify({ baseUrl: server.baseUrl, key: server.key }));
  else {
    printData(`SIGHTLINE_BASE_URL=${server.baseUrl}\nSIGHTLINE_API_KEY=${server.key}`);
    say('The sandbox serves a generated workspace until Ctrl-C. To advance its clock:');
    say(`  curl -X POST ${new URL(server.baseUrl).origin}/_sandbox/advance -d '{"days":1,"lateAnswers":3}'`);
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
  return EXIT.done;
}

function toOptions(flags: SandboxFlags): WorkspaceOptions {
  const window = flags.window;
  if (window !== 'sliding' && window !== 'fixed') {
    throw new SightlineError('usage', `--window is ${JSON.stringify(window)}; allowed: sliding, fixed`);
  }
  return {
    port: toInteger('--port', flags.port, 0, 65_535),
    seed: toInteger('--seed', flags.seed, 0, 2 ** 31 - 1),
    brands: toInteger('--brands', flags.brands, 0, 200),
    prompts: toInteger('--prompts', flags.prompts, 0, 5_000),
    days: toInteger('--days', flags.days, 1, 2_000),
    ...(flags.responsesPerDay === undefined
      ? {}
      : { responsesPerDay: toInteger('--responses-per-day', flags.responsesPerDay, 0, 100_000) }),
    rateLimit: flags.rateLimit === 'off' ? 'off' : toInteger('--rate-limit', flags.rateLimit, LIMIT_MIN, LIMIT_MAX),
    window,
    latencyMs: toInteger('--latency-ms', flags.latencyMs, 0, 600_000),
    faults: flags.faults === undefined ? [] : faultsOf(flags.faults),
  };
}

function faultsOf(text: string): ReturnType<typeof parseFaults> {
  try {
    return parseFaults(text);
  } catch (thrown) {
    throw new SightlineError('usage', `--faults: ${(thrown as Error).message}`, { cause: thrown });
  }
}
