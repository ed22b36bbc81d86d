import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a folder that is removed when the test ends, or when what `closeLater` belongs to ends. */
export async function temporaryFolder(
  closeLater: (close: () => Promise<void>) => void = onTestFinished,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-test-'));
  closeLater(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
