import type { JSX } from 'preact';
import { Frame } from '../../components/chart-frame.tsx';
import { Timestamp } from '../../components/parts.tsx';
import type { LoadedTable } from '../../state/data.tsx';
import type { Row } from '../../state/table.ts';
import { textOf } from '../../state/table.ts';

/** How a response is stored: its times, its run, and the row as the API serves it. */
export function ResponseStored({ data, row }: { readonly data: LoadedTable; readonly row: Row | null }): JSX.Element {
  const time = (name: string): JSX.Element => <Timestamp time={textOf(row?.[name]) || null} />;
  return (
    <Frame title="As it is stored" about="The current version as /v1 returns it." data={data}>
      {row !== null && (
        <>
          <dl class="facts">
            <dt>Stored version</dt>
            <dd>
              sent by upstream at {time('synced_at')} (<code>_synced_at</code>)
            </dd>
            <dt>Deleted</dt>
            <dd>{row['deleted_at'] === null ? 'no' : <>found missing at {time('deleted_at')}</>}</dd>
            <dt>Sync run</dt>
            <dd>
              <code>{textOf(row['run_id']) || '–'}</code>
              {row['run_started_at'] !== null && <> of {time('run_started_at')}</>}
            </dd>
            <dt>Id</dt>
            <dd>
              <code>{textOf(row['response_id'])}</code>
            </dd>
          </dl>
          <details class="json">
            <summary>JSON</summary>
            <pre tabIndex={0} role="region" aria-label="The response as JSON">
              <code>{JSON.stringify(row['item'], null, 2)}</code>
            </pre>
          </details>
        </>
      )}
    </Frame>
  );
}
