import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';

/** Starts a sandbox with a high rate limit and a clock that always shows `nowMs`, so that repeated requests get the same responses. */
export function startStillSandbox(options: WorkspaceOptions, nowMs = Date.now()): Promise<WorkspaceSandbox> {
  return startSandboxWorkspace({ rateLimit: 10_000, clock: () => nowMs, ...options });
}
