import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { Context } from '../../session/workspace.ts';
import { withRemedy } from '../damage-remedy.ts';
import { type Exported, type ExportProgress, exportWorkspace } from '../export.ts';
import { type ExportedFiles, exportFiles, type FileExport } from './export-files.ts';

/** What is exported of every workspace. */
export interface ExportOfAll {
  /** Null writes snapshots. */
  readonly files: (Omit<FileExport, 'output' | 'subfolder' | 'compression'> & { readonly output: string }) | null;
  /** Null is the setting of the workspace. */
  readonly compression: WorkspaceConfig['compression'] | null;
}

/** Result of the export of one workspace. */
export interface WorkspaceExport {
  readonly workspace: string;
  readonly result: Exported | ExportedFiles | SightlineError;
}

/**
 * Exports workspaces one after another; files go to a folder for each, below `output`. Calls `onEnd` with each result. Does not throw
 * if a workspace fails.
 */
export async function exportWorkspaces(
  contexts: readonly Context[],
  wanted: ExportOfAll,
  onProgress: (workspace: string, progress: ExportProgress) => void,
  onEnd: (ended: WorkspaceExport) => Promise<void>,
): Promise<void> {
  for (const context of contexts) {
    const workspace = context.config.name;
    await onEnd({ workspace, result: await exportOne(context, wanted, (now) => onProgress(workspace, now)) });
  }
}

async function exportOne(
  context: Context,
  { files, compression }: ExportOfAll,
  onProgress: (progress: ExportProgress) => void,
): Promise<WorkspaceExport['result']> {
  const { config, signal } = context;
  const chosen = compression ?? config.compression;
  try {
    signal.throwIfAborted();
    if (files === null) return await exportWorkspace(context, onProgress, { compression: chosen });
    return await exportFiles(context, { ...files, compression: chosen, subfolder: config.name }, onProgress);
  } catch (thrown) {
    if (signal.aborted) return new SightlineError('interrupted', 'the export was stopped');
    return withRemedy(toSightlineError(thrown), config.folder);
  }
}
