import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import {
  findRuns,
  type ResourceCost,
  type RunCost,
  readResourceCosts,
  readRuns,
} from '../warehouse/ledger/run-costs.ts';
import { type NewestReplica, readNewestRuns } from './status.ts';

/** Reads the requests of the last runs, newest first. */
export function listRuns(config: WorkspaceConfig, clock: Clock, limit: number): Promise<NewestReplica<RunCost[]>> {
  return readNewestRuns(config, clock, (query) => readRuns(query, limit));
}

/** A run and its requests by resource. */
export interface RunDetails {
  readonly run: RunCost;
  readonly resources: readonly ResourceCost[];
}

/** Reads the run whose ID begins with `id`. Throws `usage` if there is none, or more than one. */
export async function readRun(config: WorkspaceConfig, clock: Clock, id: string): Promise<NewestReplica<RunDetails>> {
  if (!/^[0-9a-f][0-9a-f-]{0,35}$/i.test(id)) {
    const allowed = 'an ID listed by `sightline runs`, or its beginning';
    throw new SightlineError('usage', `${JSON.stringify(id)} is not a run ID; allowed: ${allowed}`);
  }
  const { value, ...age } = await readNewestRuns(config, clock, async (query) => {
    const found = await findRuns(query, id);
    const [run] = found;
    if (run === undefined) throw new SightlineError('usage', `unknown run ${id}; \`sightline runs\` lists them`);
    if (found.length > 1) {
      const ids = found.map(({ runId }) => runId).join(' and ');
      throw new SightlineError('usage', `several runs begin with ${id}: ${ids}; give more characters of the ID`);
    }
    return [{ ...run, resources: await readResourceCosts(query, run.runId) }];
  });
  const { resources, ...run } = value[0] as RunCost & Pick<RunDetails, 'resources'>;
  return { ...age, value: { run, resources } };
}
