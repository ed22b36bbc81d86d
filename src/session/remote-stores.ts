import { basename } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { createLocalRemote } from '../remote/local-remote.ts';
import type { Remote, RemoteState } from '../remote/remote.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { withStore } from './storage-location.ts';

/** A workspace whose warehouse may be remote. */
export interface RemoteWorkspace {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'remote' | 'publish'>;
  readonly clock: Clock;
}

/** Opens the warehouse's location, local or remote; the caller closes it. Throws `config_invalid`. */
export async function openRemote({ config, clock }: RemoteWorkspace): Promise<Remote> {
  const { remote, folder } = config;
  const layout = layoutOf(folder);
  if (remote.kind === 'local') return createLocalRemote(layout);
  const { createStoreRemote } = await import('../remote/remote-store.ts');
  const kept = {
    files: [layout.jobLog, layout.notifications].map((path) => basename(path)),
    folders: [basename(layout.raw)],
  };
  const toldEpoch = async (signal: AbortSignal): Promise<number> => {
    const { readFence } = await import('../lake/fence.ts');
    return (await withStore({ config, signal }, readFence)) ?? 0;
  };
  return createStoreRemote({ open: (signal) => openRemoteStore(config, signal), layout, kept, clock, toldEpoch });
}

/** Opens the object store folder of a remote warehouse. Throws `config_invalid`. */
export async function openRemoteStore(
  { remote, name }: Pick<WorkspaceConfig, 'remote' | 'name'>,
  signal: AbortSignal,
): Promise<ObjectStore> {
  if (remote.kind === 'local') throw new SightlineError('internal', 'a local warehouse is not in an object store');
  const { openS3Store } = await import('../storage/s3-store.ts');
  const { HOUSING } = await import('../storage/object-store.ts');
  return openS3Store(remote, { folder: `${name}/home`, signal, use: HOUSING });
}

/** State of a remote warehouse; null if it was never checked out or the warehouse is local. Throws `remote_failed`. */
export async function remoteState(workspace: RemoteWorkspace): Promise<RemoteState | null> {
  const remote = await openRemote(workspace);
  try {
    return await remote.state();
  } finally {
    remote.close();
  }
}
