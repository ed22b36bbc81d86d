import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { openWorldService, readWorkspace, sharedBefore } from '../../serve/served-world.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { originalOf, type World } from '../../support/worlds.ts';

/** Opens a world for the metrics layer before the tests of a file; returns a function that returns it. */
export function sourceBefore(world: World): () => MetricsSource {
  return sharedBefore(async (closeLater) => {
    const service = openWorldService((await readWorkspace(await originalOf(world))).config);
    closeLater(service.close);
    return { replica: await service.newest(), catalogue, nowMs: NOW_MS };
  });
}
