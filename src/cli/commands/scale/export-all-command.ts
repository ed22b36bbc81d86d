import { worstExitCode } from '../../../base/ending.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import { type ExportOfAll, exportWorkspaces, type WorkspaceExport } from '../../../operations/export/export-all.ts';
import { contextOf, readAllConfigs, type WorkspaceFlags } from '../../context.ts';
import { renderFiles, renderSnapshot } from '../../output/export-summary.ts';
import { count, errorJson, plural, printJson, say } from '../../output/output.ts';
import { createProgress, exportLine } from '../../output/progress-line.ts';

/** Runs `sightline export --all` and returns the most severe exit code of all workspaces. */
export async function exportAll(flags: WorkspaceFlags, wanted: ExportOfAll, signal: AbortSignal): Promise<number> {
  const { files } = wanted;
  if (files !== null && files.brands !== null) {
    throw refuse('--brand', 'a brand belongs to one workspace');
  }
  if (files?.since?.kind === 'snapshot') throw refuse('--since with a snapshot', 'a snapshot belongs to one workspace');
  const isCut = files !== null && (files.from !== null || files.to !== null);
  const json = flags.json === true;
  const progress = createProgress(signal, (line: string) => line);
  const codes: number[] = [];
  const onEnd = async (ended: WorkspaceExport): Promise<void> => {
    progress.done();
    codes.push(await report(ended, isCut, json));
  };
  const configured = readAllConfigs(flags);
  for (const one of configured) if ('error' in one) await onEnd({ workspace: one.name, result: one.error });
  const contexts = configured.flatMap((one) =>
    'config' in one ? [contextOf('export --all', one.config, signal)] : [],
  );
  const onProgress: Parameters<typeof exportWorkspaces>[2] = (workspace, now) =>
    progress.update(`${workspace}: ${exportLine(now)}`);
  await exportWorkspaces(contexts, wanted, onProgress, onEnd);
  const done = codes.filter((code) => code === EXIT.done).length;
  const failed = codes.length === done ? '' : `, ${count(codes.length - done)} not exported`;
  say(`${plural(codes.length, 'workspace')}: ${count(done)} exported${failed}`);
  return worstExitCode(codes) ?? EXIT.done;
}

async function report({ workspace, result }: WorkspaceExport, isCut: boolean, json: boolean): Promise<number> {
  if (result instanceof SightlineError) {
    if (json) printJson('export --all', { workspace, ...errorJson(result) });
    say(`${workspace}: ${result.message}\n${workspace}: ${result.hint}`);
    return result.exit;
  }
  if (!json) say(`${workspace}:`);
  const shown = 'id' in result ? renderSnapshot(result, json) : await renderFiles(result, isCut, json);
  if (json) printJson('export --all', { workspace, ...shown });
  return EXIT.done;
}

function refuse(option: string, why: string): SightlineError {
  return new SightlineError('usage', `--all cannot be combined with ${option}, because ${why}`);
}
