import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isReadableOnTheWay } from '../../base/config/budget-settings.ts';
import type { DestinationTarget } from '../../base/config/destination-settings.ts';
import { toSightlineError } from '../../base/errors.ts';
import { fileOf } from '../../publish/destinations/kinds.ts';
import { runLoad } from '../../publish/destinations/run-child.ts';
import { spillFolder } from '../../warehouse/file/spill.ts';
import type { CheckContext, Finding } from './check-context.ts';

/** Checks that each destination can be reached. Writes nothing. */
export async function checkDestinations(check: CheckContext): Promise<Finding[]> {
  const { config } = check.context;
  if (config.destinations.length === 0) return [{ status: 'ok', message: 'no destination is set' }];
  if (!existsSync(check.layout.analytics))
    return [{ status: 'ok', message: 'not checked: there is nothing to load yet' }];
  const findings: Finding[] = [];
  for (const name of config.destinations) findings.push(await checkDestination(check, name));
  return findings;
}

async function checkDestination({ context, layout, isOffline }: CheckContext, name: string): Promise<Finding> {
  const { config, clock, signal } = context;
  try {
    const target = config.destination(name);
    const file = fileOf(target);
    if (file === null && isOffline) return { status: 'ok', message: `${name} not checked, because of --offline` };
    // Attaching a file creates it.
    if (file !== null && !existsSync(file)) {
      const folder = dirname(file);
      return existsSync(folder)
        ? { status: 'ok', message: `${name}: the first load creates ${file}` }
        : { status: 'failure', message: `${name}: there is no folder ${folder}`, advice: 'Create the folder.' };
    }
    const request = {
      ...{
        workspace: config.name,
        tables: [],
        replica: layout.analytics,
        target,
        temporary: spillFolder(layout.analytics),
      },
      ...{ extensions: config.extensions, now: clock.now(), full: false, dryRun: true },
    };
    await runLoad(request, signal, () => undefined);
    const url = urlOf(target);
    if (url !== null && isReadableOnTheWay(url))
      return {
        status: 'warning',
        message: `${name}: the URL does not require TLS: the password can be read in transit`,
        advice: `Add ${target.kind === 'mysql' ? '?ssl-mode=verify_identity' : '?sslmode=verify-full'} to the address, unless you control the whole network path.`,
      };
    return { status: 'ok', message: `${name}: the ${target.kind} destination can be reached` };
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message, hint } = toSightlineError(thrown);
    return {
      status: code === 'destination_newer' ? 'warning' : 'failure',
      message: `${name}: ${message}`,
      advice: hint,
    };
  }
}

function urlOf(target: DestinationTarget): string | null {
  if (target.kind === 'postgres' || target.kind === 'mysql') return target.url;
  return target.kind === 'ducklake' && 'url' in target.catalog ? target.catalog.url : null;
}
