import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { FleetRow } from '../../page-data/fleet-row.ts';
import { type ColumnSpec, DataTable } from '../components/data-table.tsx';
import { Age, Marked } from '../components/marks.tsx';
import { changeColumn, StatisticValue } from '../components/measured.tsx';
import { EmptyState, ErrorState, PageHead } from '../components/parts.tsx';
import { useApi, useResource } from '../state/data.tsx';
import { measurementOf, statisticOf } from '../state/series.ts';
import '../styles/operations.css';

/** How often the list is requested: while workspaces are being read or synced, and otherwise. */
const BUSY_MS = 3_000;
const POLL_MS = 30_000;
const URGENCY = ['problem', 'attention', 'busy', 'good'];

/** All workspaces that the reader may open, the most urgent first. */
export default function Fleet(): JSX.Element {
  const { data, error, retry } = useFleet();
  const columns = useMemo(columnsOf, []);
  const rows = useMemo(() => data?.workspaces ?? [], [data]);
  return (
    <>
      <PageHead
        title="Workspaces"
        about="Visibility covers all brands of a workspace and the last 28 days, compared with the 28 days before."
      />
      {error !== null && <ErrorState error={error} retry={retry} />}
      {error === null && data === null && <div class="skeleton" role="status" aria-label="Loading" />}
      {data !== null && rows.length === 0 && (
        <EmptyState>No workspace is configured yet: run sightline init --workspace NAME.</EmptyState>
      )}
      {rows.length > 0 && (
        <section class="panel" aria-label="Workspaces">
          <DataTable
            caption="Workspaces"
            items={rows}
            columns={columns}
            keyOf={({ workspace }) => workspace}
            sort={{ id: 'urgency', isDescending: false }}
          />
        </section>
      )}
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

function columnsOf(): ColumnSpec<FleetRow>[] {
  return [
    {
      id: 'workspace',
      label: 'Workspace',
      value: ({ workspace }) => workspace,
      cell: ({ workspace }) => <a href={`/w/${workspace}/`}>{workspace}</a>,
    },
    {
      id: 'urgency',
      label: 'State',
      about: 'The verdict of sightline status.',
      isWide: true,
      value: ({ level, workspace }) => `${URGENCY.indexOf(level)} ${workspace}`,
      cell: ({ level, sentence }) => <Marked level={level}>{sentence}</Marked>,
    },
    ...visibilityColumns(),
    {
      id: 'synced',
      label: 'Last complete sync',
      unit: 'time',
      value: ({ syncedAt }) => syncedAt,
      cell: ({ syncedAt }) => <Age time={syncedAt} />,
    },
    { id: 'complete', label: 'Complete to', unit: 'day', value: ({ completeTo }) => completeTo },
    {
      id: 'sync',
      label: 'Running sync',
      value: ({ sync }) => (sync === null || sync.expected === 0 ? null : sync.done / sync.expected),
      cell: ({ sync }) =>
        sync === null ? '–' : `${Math.min(99, Math.floor((100 * sync.done) / Math.max(1, sync.expected)))} %`,
    },
    {
      id: 'next',
      label: 'Next job',
      value: ({ nextJob }) => nextJob?.at ?? null,
      cell: ({ nextJob }) =>
        nextJob === null ? (
          'none'
        ) : (
          <>
            {nextJob.name} <Age time={nextJob.at} />
          </>
        ),
    },
    { id: 'brands', label: 'Brands', unit: 'count', value: ({ brands }) => brands, isHidden: true },
  ];
}

function visibilityColumns(): ColumnSpec<FleetRow>[] {
  return [
    {
      id: 'visibility',
      label: 'Visibility',
      about: 'Share of responses that mention the brand, with the number of responses.',
      unit: 'ratio',
      value: (row) => measurementOf(row.visibility, 'visibility').value,
      cell: (row) => (
        <StatisticValue title={row.workspace} statistic={statisticOf(row.visibility, 'visibility')} unit="ratio" />
      ),
    },
    changeColumn<FleetRow>({
      id: 'change',
      label: 'Change',
      about: 'Against the 28 days before, in points of a percentage.',
      statistic: (row) => statisticOf(row.visibility, 'visibility'),
      nameOf: ({ workspace }) => workspace,
    }),
  ];
}
