import type { WorkspaceConfig } from '../../../base/config/config.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { exportWorkspace } from '../../../operations/export.ts';
import { exportFiles, type FileExport } from '../../../operations/export/export-files.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { renderFiles, renderSnapshot } from '../../output/export-summary.ts';
import { say } from '../../output/output.ts';
import { createProgress, exportLine } from '../../output/progress-line.ts';
import { runForAll } from './all-workspaces.ts';

/** Data that are exported of every workspace. */
interface ExportOfAll {
  /** Null writes snapshots. */
  readonly files: (Omit<FileExport, 'output' | 'subfolder' | 'compression'> & { readonly output: string }) | null;
  /** Null is the setting of the workspace. */
  readonly compression: WorkspaceConfig['compression'] | null;
}

/** Runs `sightline export --all` and returns the most severe exit code. Files go to a folder for each workspace, below `output`. */
export async function exportAll(
  flags: WorkspaceFlags,
  { files, compression: given }: ExportOfAll,
  signal: AbortSignal,
): Promise<number> {
  if (files !== null && files.brands !== null) {
    throw refuse('--brand', 'a brand belongs to one workspace');
  }
  if (files?.since?.kind === 'snapshot') throw refuse('--since with a snapshot', 'a snapshot belongs to one workspace');
  const isCut = files !== null && (files.from !== null || files.to !== null);
  const json = flags.json === true;
  const progress = createProgress(signal, (line: string) => line);
  return runForAll(flags, signal, {
    command: 'export --all',
    words: ['exported', 'not exported'],
    run: async (context) => {
      const { name, compression: configured } = context.config;
      const compression = given ?? configured;
      const onProgress: Parameters<typeof exportWorkspace>[1] = (now) => progress.update(`${name}: ${exportLine(now)}`);
      try {
        if (files === null) return await exportWorkspace(context, onProgress, { compression });
        return await exportFiles(context, { ...files, compression, subfolder: name }, onProgress);
      } finally {
        progress.done();
      }
    },
    show: async (workspace, result) => {
      if (!json) say(`${workspace}:`);
      const shown = 'id' in result ? renderSnapshot(result, json) : await renderFiles(result, isCut, json);
      return [shown, EXIT.done];
    },
  });
}

function refuse(option: string, why: string): SightlineError {
  return new SightlineError('usage', `--all cannot be combined with ${option}, because ${why}`);
}
