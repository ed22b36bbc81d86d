import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { FleetRow } from '../../page-data/fleet-row.ts';
import { DataTable } from '../components/data-table.tsx';
import { Age, Marked } from '../components/marks.tsx';
import { PageHead } from '../components/page-head.tsx';
import { WhenLoaded } from '../components/parts.tsx';
import type { GivenColumn } from '../components/table-columns.tsx';
import { useApi, useResource } from '../state/data.tsx';
import { type Row, textOf } from '../state/table.ts';
import '../styles/operations.css';

/** How often the list is requested: while workspaces are being read or synced, and otherwise. */
const BUSY_MS = 3_000;
const POLL_MS = 30_000;
const URGENCY = ['problem', 'attention', 'busy', 'good'];

/** All workspaces that the reader may open, the most urgent first. */
export default function Fleet(): JSX.Element {
  const loaded = useFleet();
  const { data } = loaded;
  const rows = useMemo(() => (data?.workspaces ?? []).map((row): Row => ({ ...row, ...row.visibility })), [data]);
  return (
    <>
      <PageHead
        title="Workspaces"
        about="Visibility covers all brands of a workspace and the last 28 days, compared with the 28 days before."
      />
      <WhenLoaded of={loaded}>
        {() => (
          <section class="panel" aria-label="Workspaces">
            <DataTable
              caption="Workspaces"
              rows={rows}
              columns={COLUMNS}
              hidden={HIDDEN}
              sort="urgency"
              empty="No workspace is configured yet: run sightline init --workspace NAME."
              isMain
            />
          </section>
        )}
      </WhenLoaded>
    </>
  );
}

// The server does not report changes of the list, so it is requested periodically.
function useFleet() {
  const fleet = useResource<{ readonly workspaces: readonly FleetRow[] }>('/data/fleet');
  const api = useApi();
  const { data } = fleet;
  const isBusy = data?.workspaces.some(({ isPending, sync }) => isPending || sync !== null) === true;
  useEffect(() => {
    const timer = setInterval(() => api.changed(), isBusy ? BUSY_MS : POLL_MS);
    return () => clearInterval(timer);
  }, [api, isBusy]);
  return fleet;
}

const COLUMNS: readonly GivenColumn[] = [
  { name: 'workspace', cell: ({ workspace }) => <a href={`/w/${textOf(workspace)}/`}>{textOf(workspace)}</a> },
  {
    name: 'urgency',
    label: 'State',
    about: 'The verdict of sightline status.',
    value: ({ level, workspace }) => `${URGENCY.indexOf(textOf(level))} ${textOf(workspace)}`,
    cell: ({ level, sentence }) => <Marked level={textOf(level)}>{textOf(sentence)}</Marked>,
  },
  { name: 'visibility', about: 'Share of responses that mention the brand, with the number of responses.' },
  { name: 'visibility_change', label: 'Change', about: 'Against the 28 days before, in points of a percentage.' },
  {
    name: 'syncedAt',
    label: 'Last complete sync',
    unit: 'time',
    cell: ({ syncedAt }) => <Age time={textOf(syncedAt) || null} />,
  },
  {
    name: 'done',
    label: 'Running sync',
    value: ({ sync }) => percentOf(sync as FleetRow['sync']),
    cell: ({ sync }) => (sync === null ? '–' : `${percentOf(sync as FleetRow['sync'])} %`),
  },
];
const HIDDEN: readonly GivenColumn[] = [
  { name: 'completeTo', label: 'Complete to', unit: 'day' },
  {
    name: 'nextJob',
    label: 'Next job',
    value: ({ nextJob }) => (nextJob as FleetRow['nextJob'])?.at ?? null,
    cell: ({ nextJob }) => <NextJob job={nextJob as FleetRow['nextJob']} />,
  },
  { name: 'brands', unit: 'count' },
];

function percentOf(sync: FleetRow['sync']): number | null {
  return sync === null ? null : Math.min(99, Math.floor((100 * sync.done) / Math.max(1, sync.expected)));
}

function NextJob({ job }: { readonly job: FleetRow['nextJob'] }): JSX.Element {
  if (job === null) return <>none</>;
  return (
    <>
      {job.name} <Age time={job.at} />
    </>
  );
}
