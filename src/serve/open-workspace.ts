import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { openSavedQueries } from '../operations/sql/saved-queries.ts';
import { createSqlService, type SqlService } from '../operations/sql/sql-service.ts';
import { reportWorkspace } from '../operations/write-report.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import type { Service } from '../read/service.ts';
import { joinKeyrings, type Keyring, openKeyring } from './auth/keys.ts';
import { ENCODER } from './data/sql-files.ts';
import type { OpenedWorkspace } from './http/http-server.ts';
import { openService } from './open-service.ts';
import type { WriteReport } from './pages/report-files.ts';
import type { StatusParts } from './pages/status-report.ts';

/** How the data of a workspace are opened. */
export interface OpenDataOptions {
  readonly clock: Clock;
  readonly cursorSecret: Uint8Array;
  readonly queryTimeoutMs: number;
}

/** The query layer of a workspace, and guarded SQL. */
export interface WorkspaceData {
  readonly service: Service;
  readonly sql: SqlService;
  close(): Promise<void>;
}

/** Opens the data of a workspace, which may not exist yet. */
export function openData(config: WorkspaceConfig, options: OpenDataOptions): WorkspaceData {
  const { clock, cursorSecret, queryTimeoutMs } = options;
  const service = openService(config, clock, cursorSecret, queryTimeoutMs);
  const path = layoutOf(config.folder).analytics;
  const sql = createSqlService({ path, catalogue: service.catalogue, clock, encoder: ENCODER });
  const close = async (): Promise<void> => {
    await Promise.all([service.close(), sql.close()]);
  };
  return { service, sql, close };
}

/** Opens a workspace for a server. `fleetKeys` are the keys for several workspaces; without `status` there are no pages. */
export function openForServer(
  config: WorkspaceConfig,
  fleetKeys: Keyring,
  status: StatusParts | null,
  options: OpenDataOptions,
): OpenedWorkspace {
  const { service, sql, close } = openData(config, options);
  const { snapshots, queries } = layoutOf(config.folder);
  const keyring = joinKeyrings(openKeyring(config.folder), fleetKeys, config.name);
  const saved = openSavedQueries(queries);
  const writeReport: WriteReport = async (brandId, address) => {
    await reportWorkspace(config, options.clock, { brands: [brandId], address });
  };
  return {
    parts: { service, keyring, snapshots, writeReport, sql: { sql, saved }, ...(status === null ? {} : { status }) },
    close,
  };
}
