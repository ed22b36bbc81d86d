import type { Catalogue } from '../../contract/catalogue.ts';
import type { Service } from '../../query/service.ts';

/** The data that an MCP server serves: one workspace, or several of which each call names one. */
export interface Served {
  readonly catalogue: Catalogue;
  /** Names of the workspaces; null if there is one, which calls do not name. */
  readonly workspaces: readonly string[] | null;
  /**
   * Runs `work` with the service of a workspace, which stays open until it ends. `workspace` is null if there is one.
   *
   * @throws SightlineError `invalid_parameter` for an unknown name
   */
  use<T>(workspace: string | null, work: (service: Service) => Promise<T>): Promise<T>;
}

/** Serves one workspace. */
export function servedOne(service: Service): Served {
  return { catalogue: service.catalogue, workspaces: null, use: (_, work) => work(service) };
}
