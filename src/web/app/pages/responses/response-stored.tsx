import type { JSX } from 'preact';
import { Frame } from '../../components/chart-frame.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { RowFacts } from '../../components/row-facts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import type { LoadedTable } from '../../state/data.tsx';
import { type Row, textOf } from '../../state/table.ts';

const FACTS: readonly GivenColumn[] = [
  { name: 'synced_at', label: 'Sent by the API' },
  { name: 'deleted_at', label: 'Found missing' },
  {
    name: 'run_id',
    label: 'Sync run',
    below: ({ run_started_at: at }) => (at === null ? null : <Timestamp time={textOf(at)} />),
  },
  { name: 'response_id', label: 'Id' },
];

/** How a response is stored: its times, its run, and the row as the API serves it. */
export function ResponseStored({ data, row }: { readonly data: LoadedTable; readonly row: Row | null }): JSX.Element {
  return (
    <Frame title="As it is stored" about="The current version as /v1 returns it." data={data}>
      {data.table !== null && <RowFacts table={data.table} columns={FACTS} />}
      <details class="json">
        <summary>JSON</summary>
        <pre tabIndex={0} role="region" aria-label="The response as JSON">
          <code>{JSON.stringify(row?.['item'], null, 2)}</code>
        </pre>
      </details>
    </Frame>
  );
}
