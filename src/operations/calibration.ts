import { chooseName } from '../base/choose-name.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { type CalibratedPoint, toPoint } from '../metrics/calibration/calibrated-points.ts';
import { type Conventions, defaultConventions } from '../metrics/calibration/conventions.ts';
import { conventionNames } from '../metrics/calibration/descriptions.ts';
import { readStoredFindings } from '../metrics/calibration/findings.ts';
import { mergeConventions, toOverrides } from '../metrics/calibration/overrides.ts';
import { type NewestReplica, readNewestReplica } from './status.ts';

/**
 * Reads the points that the specification leaves open, and the values that are used for them. `name` selects one, also by its beginning.
 *
 * @throws `usage` for an unknown point, `no_data`, `config_invalid` for invalid overrides
 */
export async function readCalibration(
  config: WorkspaceConfig,
  name: string | null,
): Promise<NewestReplica<CalibratedPoint[]>> {
  const overrides = toOverrides(config.conventions);
  const wanted =
    name === null ? conventionNames : [chooseName('point', name, conventionNames, '') as keyof Conventions];
  const { value: stored, stale } = await readNewestReplica(config, readStoredFindings);
  const learned = Object.fromEntries([...stored].map(([key, finding]) => [key, finding.value]));
  const used = mergeConventions({ ...defaultConventions, ...learned }, overrides);
  const points = wanted.map((key) => toPoint(key, used, stored.get(key) ?? null, Object.hasOwn(overrides, key)));
  return { value: points, stale };
}
