import { z } from 'zod';
import { type SightlineError, toSightlineError } from '../../base/errors.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import { DamagedFile } from '../../warehouse/errors.ts';
import { writerOf } from '../../workspace/lock-driver.ts';
import { remedyOf } from '../damage-remedy.ts';
import type { CheckContext, Finding } from './check-context.ts';
import { checkReplica, checkSnapshots, checkWarehouseFile } from './check-data.ts';
import { checkDestinations } from './check-destinations.ts';
import { checkDisk, checkFolder, checkLeftovers, checkPermissions } from './check-files.ts';
import { checkRecords } from './check-implausible.ts';
import { checkCompleteness, checkJobs, checkKeys, checkRawPages, checkWebhooks } from './check-records.ts';
import { checkBudget, checkUpstream } from './check-requests.ts';
import { checkHome, checkPublishing } from './check-stores.ts';

/** Result of a check. */
export const checkResult = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'failure']),
  message: z.string(),
  advice: z.string().nullable(),
  fixed: z.boolean(),
});

/** Result of a check. */
export type CheckResult = ValueOf<typeof checkResult>;

/** Input of `examine`. */
export type Examination = Omit<CheckContext, 'layout' | 'owner'>;

/** A configured workspace. `error` is null if its settings are valid. */
export interface ConfiguredWorkspace {
  readonly name: string;
  readonly error: SightlineError | null;
}

/** Checks of settings that all workspaces share. */
export interface SharedChecks {
  readonly checkQueue: () => Promise<Finding[]>;
  readonly checkOAuth: () => Promise<Finding[]>;
}

/** The oldest supported Node version. */
const NODE_LEAST = [20, 19] as const;

/** Runs one check. `earlier` has the results of the checks before it. */
type Check = (check: CheckContext, earlier: readonly CheckResult[]) => Promise<Finding[]>;

const checks: readonly { readonly name: string; readonly run: Check }[] = [
  { name: 'data folder', run: checkFolder },
  { name: 'disk', run: checkDisk },
  { name: 'permissions', run: checkPermissions },
  { name: 'leftovers', run: checkLeftovers },
  { name: 'budget', run: checkBudget },
  { name: 'upstream', run: (check, earlier) => checkUpstream(check, hasFailed(earlier, 'budget')) },
  { name: 'home', run: checkHome },
  { name: 'warehouse', run: checkWarehouseFile },
  { name: 'replica', run: (check, earlier) => checkReplica(check, hasFailed(earlier, 'warehouse')) },
  { name: 'records', run: (check, earlier) => checkRecords(check, hasFailed(earlier, 'warehouse')) },
  { name: 'snapshots', run: (check, earlier) => checkSnapshots(check, hasFailed(earlier, 'warehouse')) },
  { name: 'publishing', run: checkPublishing },
  { name: 'destinations', run: checkDestinations },
  {
    name: 'completeness',
    run: (check, earlier) =>
      hasFailed(earlier, 'warehouse') || hasFailed(earlier, 'replica') ? Promise.resolve([]) : checkCompleteness(check),
  },
  { name: 'raw pages', run: checkRawPages },
  { name: 'keys', run: checkKeys },
  { name: 'jobs', run: checkJobs },
  { name: 'webhooks', run: checkWebhooks },
];

/** Checks that need no workspace: the Node version, the settings of every workspace, the queue and OAuth. Does not throw. */
export async function examineSurroundings(
  configured: readonly ConfiguredWorkspace[],
  { checkQueue, checkOAuth }: SharedChecks = { checkQueue: async () => [], checkOAuth: async () => [] },
  version: string = process.versions.node,
): Promise<CheckResult[]> {
  return [
    ...(await perform('node', () => Promise.resolve([checkNode(version)]))),
    ...(await perform('configuration', () => Promise.resolve(configured.map(checkSettings)))),
    ...(await perform('queue', checkQueue)),
    ...(await perform('oauth', checkOAuth)),
  ];
}

/** Runs every check on a workspace. An error of a check becomes its failure. Throws only the signal's reason. */
export async function examine(examination: Examination): Promise<CheckResult[]> {
  const { config, signal } = examination.context;
  const check = { ...examination, layout: layoutOf(config.folder), owner: await findOwner(config.folder) };
  const results: CheckResult[] = [];
  for (const { name, run } of checks) {
    results.push(...(await perform(name, () => run(check, results), examination.folder)));
    signal.throwIfAborted();
  }
  return results;
}

function hasFailed(results: readonly CheckResult[], check: string): boolean {
  return results.some((result) => result.check === check && result.status === 'failure');
}

// `folder` is the user's current directory, used in the repair command for a damaged file.
async function perform(
  check: string,
  run: () => Promise<Finding[]>,
  folder: string | null = null,
): Promise<CheckResult[]> {
  const toResult = ({ status, message, advice, fixed }: Finding): CheckResult => {
    return { check, status, message, advice: advice ?? null, fixed: fixed ?? false };
  };
  try {
    return (await run()).map(toResult);
  } catch (thrown) {
    const { message, hint } = toSightlineError(thrown);
    const remedy = thrown instanceof DamagedFile && folder !== null ? await remedyOf(thrown.path, folder) : null;
    return [toResult({ status: 'failure', message, advice: remedy === null ? hint : `R${remedy.slice(1)}.` })];
  }
}

async function findOwner(folder: string): Promise<string | null> {
  const writer = await writerOf(folder);
  return writer === null ? null : `\`${writer.command}\` (process ${writer.pid})`;
}

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [least, leastMinor] = NODE_LEAST;
  if (major > least || (major === least && minor >= leastMinor)) return { status: 'ok', message: `Node ${version}` };
  const message = `Node ${version} is older than ${NODE_LEAST.join('.')}`;
  return { status: 'failure', message, advice: 'Install a newer Node.' };
}

function checkSettings({ name, error }: ConfiguredWorkspace): Finding {
  if (error === null) return { status: 'ok', message: `workspace ${name}: settings are valid` };
  return { status: 'failure', message: `workspace ${name}: ${error.message}`, advice: error.hint };
}
