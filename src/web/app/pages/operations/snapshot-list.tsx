import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Manifest } from '../../../../publish/snapshot/manifest.ts';
import type { OperationsReport } from '../../../page-data/operations-report.ts';
import type { SnapshotLine } from '../../../page-data/status-lines.ts';
import { Age, PlainTable } from '../../components/marks.tsx';
import { ErrorState } from '../../components/parts.tsx';
import { grouped, plural, size } from '../../state/amounts.ts';
import { useApi, useResource } from '../../state/data.tsx';

/** Files of a snapshot that are listed. */
const FILES_MAX = 500;

/** The published snapshots and their files. */
export function SnapshotList({ snapshots }: Pick<OperationsReport, 'snapshots'>): JSX.Element {
  const { newest, all, latest } = snapshots;
  if (newest.length === 0) {
    return (
      <p class="quiet">
        No snapshot published yet. Run <code>sightline export</code>.
      </p>
    );
  }
  return (
    <>
      <PlainTable
        caption="Published snapshots, newest first"
        columns={['Snapshot', 'Created', '#Rows', '#Size', 'Files']}
        rows={newest.map((one) => [
          <span key="id">
            {one.id} {one.id === latest && <span class="tag">latest</span>}
          </span>,
          <Age key="created" time={one.createdAt} />,
          grouped(one.rows),
          size(one.bytes),
          <Files key="files" snapshot={one} />,
        ])}
      />
      {all > newest.length && (
        <p class="quiet">{plural(all - newest.length, 'snapshot')} more are listed at /snapshots.</p>
      )}
    </>
  );
}

function Files({ snapshot }: { readonly snapshot: SnapshotLine }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{plural(snapshot.files, 'file')}</summary>
      {isOpen && <FileList snapshot={snapshot} />}
    </details>
  );
}

function FileList({ snapshot: { id, manifest } }: { readonly snapshot: SnapshotLine }): JSX.Element {
  const { base } = useApi();
  const { data, error, retry } = useResource<Manifest>(manifest);
  if (error !== null) return <ErrorState error={error} retry={retry} />;
  if (data === null) return <p role="status">Loading</p>;
  const files = data.tables.flatMap((table) => table.files);
  return (
    <>
      <ul class="files">
        <li>
          <a href={`${base}${manifest}`} download>
            manifest.json
          </a>
        </li>
        {files.slice(0, FILES_MAX).map(({ path, bytes }) => (
          <li key={path}>
            <a href={`${base}/snapshots/${id}/${path}`} download={path.replaceAll('/', '-')}>
              {path}
            </a>{' '}
            <span class="quiet">{size(bytes)}</span>
          </li>
        ))}
      </ul>
      {files.length > FILES_MAX && <p>{plural(files.length - FILES_MAX, 'file')} more are in the manifest.</p>}
    </>
  );
}
