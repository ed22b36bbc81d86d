import type { Clock } from '../../base/clock.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { SqlService } from '../../operations/sql/sql-service.ts';
import type { Service } from '../../read/service.ts';

/** A workspace that an MCP server reads. */
export interface ServedWorkspace {
  readonly service: Service;
  /** Guarded SQL; null if the server has none. */
  readonly sql: SqlService | null;
  /** Base URL of the data pages; null if none are served. */
  readonly pageUrl: string | null;
}

/** The data that an MCP server serves: one workspace, or several workspaces, from which each call selects one by name. */
export interface Served {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  /** Names of the workspaces; null if the server has only one, because calls then do not name it. */
  readonly workspaces: readonly string[] | null;
  /** Whether the workspaces have guarded SQL. */
  readonly hasSql: boolean;
  /**
   * Runs `work` with a workspace, which stays open until `work` ends. `name` is null if the server has only one workspace.
   *
   * @throws SightlineError `invalid_parameter` for an unknown name
   */
  use<T>(name: string | null, work: (workspace: ServedWorkspace) => Promise<T>): Promise<T>;
}

/** Serves one workspace. */
export function servedOne(workspace: ServedWorkspace, clock: Clock): Served {
  const { service, sql } = workspace;
  return {
    catalogue: service.catalogue,
    clock,
    workspaces: null,
    hasSql: sql !== null,
    use: (_, work) => work(workspace),
  };
}
