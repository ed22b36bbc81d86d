import { z } from 'zod';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { DEFAULT_WORKSPACE } from '../../base/config/workspace-names.ts';
import { toSightlineError } from '../../base/errors.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import type { Context } from '../../workspace/workspace.ts';
import { type Configured, validConfigs } from '../cluster/workspace-list.ts';
import { type Finding, VERDICTS } from './check-context.ts';
import { type CheckResult, checkResult, type ConfiguredWorkspace, examine, examineSurroundings } from './doctor.ts';

/** Input of a diagnosis. */
export interface DiagnosisOptions {
  /** The user's current directory. */
  readonly folder: string;
  readonly isOffline: boolean;
  /** Whether to make the repairs that are safe. */
  readonly fix: boolean;
  readonly signal: AbortSignal;
  /** Loads the settings of the job runner. Throws `config_invalid`. */
  runner(): RunnerSettings;
  /** Checks the settings of access tokens; `workspaces` are the configured ones. Throws `config_invalid`. */
  checkOAuth(workspaces: readonly string[]): Promise<Finding[]>;
  open(config: WorkspaceConfig): Context;
}

/** The workspace that a user selected, and the others. */
export interface Selection {
  /** Name that was given; null for the configured one. */
  readonly workspace: string | null;
  /** Loads the settings of the selected workspace, or of the one with a name. Throws `config_invalid`. */
  read(name: string | null): WorkspaceConfig;
  names(): readonly string[];
}

/** Results of the checks of a workspace. */
export const workspaceDiagnosis = z.object({
  workspace: z.string().nullable().describe('null for the checks that need no workspace'),
  status: checkResult.shape.status,
  checks: z.array(checkResult),
});

/** Results of the checks of a workspace. */
export type Diagnosis = ValueOf<typeof workspaceDiagnosis>;

/** Checks the installation, the settings of all workspaces, and the selected workspace if its settings are valid. */
export async function diagnoseOne(selection: Selection, options: DiagnosisOptions): Promise<Diagnosis> {
  const { config, all } = readSettings(selection);
  const checks = await checkSurroundings(all, options);
  if (config !== null) checks.push(...(await checkWorkspace(config, options)));
  return diagnosisOf(config?.name ?? selection.workspace, checks);
}

/**
 * Checks the installation and every workspace with valid settings. Calls `onEnd` with the checks that need no workspace, then
 * with those of each workspace. Returns all of them.
 */
export async function diagnoseAll(
  all: readonly Configured[],
  options: DiagnosisOptions,
  onEnd: (diagnosis: Diagnosis) => void,
): Promise<Diagnosis> {
  const checks = await checkSurroundings(all, options);
  onEnd(diagnosisOf(null, checks));
  for (const config of validConfigs(all)) {
    const own = await checkWorkspace(config, options);
    onEnd(diagnosisOf(config.name, own));
    checks.push(...own);
  }
  return diagnosisOf(null, checks);
}

function diagnosisOf(workspace: string | null, checks: readonly CheckResult[]): Diagnosis {
  const status = VERDICTS.findLast((verdict) => checks.some((check) => check.status === verdict)) ?? 'ok';
  return { workspace, status, checks: [...checks] };
}

function checkSurroundings(all: readonly Configured[], options: DiagnosisOptions): Promise<CheckResult[]> {
  const { runner, checkOAuth, signal } = options;
  return examineSurroundings(all.map(toConfigured), {
    checkQueue: async () => {
      const { checkQueue } = await import('./check-queue.ts');
      return checkQueue(runner(), validConfigs(all), signal);
    },
    checkOAuth: () => checkOAuth(all.map(({ name }) => name)),
  });
}

function checkWorkspace(config: WorkspaceConfig, options: DiagnosisOptions): Promise<CheckResult[]> {
  const { folder, isOffline, fix, open } = options;
  return examine({ context: open(config), folder, isOffline, fix });
}

function toConfigured(configured: Configured): ConfiguredWorkspace {
  if ('error' in configured) return configured;
  try {
    configured.config.upstream();
    return { name: configured.name, error: null };
  } catch (thrown) {
    return { name: configured.name, error: toSightlineError(thrown) };
  }
}

// Settings of the selected workspace, null if they are invalid, and of all configured ones including it.
function readSettings({ workspace, read, names }: Selection): {
  config: WorkspaceConfig | null;
  all: readonly Configured[];
} {
  let config: WorkspaceConfig;
  try {
    config = read(null);
  } catch (thrown) {
    return { config: null, all: [{ name: workspace ?? DEFAULT_WORKSPACE, error: toSightlineError(thrown) }] };
  }
  const all = [...new Set([config.name, ...names()])].map((name): Configured => {
    try {
      return { name, config: name === config.name ? config : read(name) };
    } catch (thrown) {
      return { name, error: toSightlineError(thrown) };
    }
  });
  return { config, all };
}
