import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Timestamp } from '../../components/parts.tsx';
import { Tabs } from '../../components/tabs.tsx';
import type { ApiError } from '../../state/api.ts';
import { asApiError } from '../../state/data.tsx';
import { addressWith, useRoute } from '../../state/router.tsx';
import { saveFile, XLSX } from '../../state/save-file.ts';
import { useScope } from '../../state/scope.tsx';
import type { Table } from '../../state/table.ts';
import { ChartView } from './chart-view.tsx';
import { ResultTable } from './result-table.tsx';

export interface ResultViewProps {
  readonly table: Table;
  /** Returns the complete result as a file. */
  readonly download: (sql: string, accept: string) => Promise<Blob>;
}

const FILES: readonly { readonly label: string; readonly ending: string; readonly accept: string }[] = [
  { label: 'CSV', ending: 'csv', accept: 'text/csv' },
  { label: 'CSV for Excel', ending: 'csv', accept: 'text/csv;dialect=excel' },
  { label: 'Excel', ending: 'xlsx', accept: XLSX },
  { label: 'Parquet', ending: 'parquet', accept: 'application/vnd.apache.parquet' },
  { label: 'Arrow', ending: 'arrows', accept: 'application/vnd.apache.arrow.stream' },
];

/** A result: rows as a table or as a chart, its state, and its files. */
export function ResultView({ table, download }: ResultViewProps): JSX.Element {
  const route = useRoute();
  const view = route.search.get('view') === 'chart' ? 'chart' : 'table';
  const to = (id: string): string => addressWith(route, { view: id === 'table' ? null : id });
  const tabs = [
    { id: 'table', label: 'Table', to: to('table') },
    { id: 'chart', label: 'Chart', to: to('chart') },
  ];
  return (
    <section class="panel sql-result" aria-label="Result of the query">
      <ResultState table={table} />
      <Downloads table={table} download={download} />
      <Tabs label="Views of the result" tabs={tabs} current={view} />
      {view === 'table' ? <ResultTable table={table} /> : <ChartView table={table} />}
    </section>
  );
}

function ResultState({ table }: { readonly table: Table }): JSX.Element {
  const { format } = useScope();
  const { rows, truncated, rowsTotal, elapsedMs, asOf, completeTo } = table;
  const count = format.value(rows.length, 'count');
  const total = typeof rowsTotal === 'number' ? format.value(rowsTotal, 'count') : 'more';
  return (
    <p class="sql-state">
      <b>{truncated === true ? `First ${count} of ${total} rows` : `${count} ${rows.length === 1 ? 'row' : 'rows'}`}</b>
      {elapsedMs !== undefined && ` in ${format.value(elapsedMs / 1_000, 'number')} s`}
      <span class="quiet">
        {' '}
        · data as of <Timestamp time={asOf} />
        {completeTo != null && `, complete to ${format.day(completeTo)}`}
        {truncated === true && ' · downloads have all rows'}
      </span>
    </p>
  );
}

function Downloads({ table, download }: ResultViewProps): JSX.Element {
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (label: string, ending: string, accept: string): Promise<void> => {
    setBusy(label);
    setError(null);
    try {
      saveFile(await download(table.sql, accept), `query.${ending}`);
    } catch (thrown) {
      setError(asApiError(thrown));
    }
    setBusy(null);
  };
  return (
    <div class="row sql-files">
      <span class="quiet">Download</span>
      {FILES.map(({ label, ending, accept }) => (
        <button
          key={label}
          type="button"
          class="small"
          disabled={busy !== null}
          aria-label={`Download as ${label}`}
          onClick={() => void save(label, ending, accept)}
        >
          {busy === label ? `${label} …` : label}
        </button>
      ))}
      {error !== null && <span role="alert">{error.message}</span>}
    </div>
  );
}
