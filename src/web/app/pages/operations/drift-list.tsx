import type { JSX } from 'preact';
import type { ReplicaReport } from '../../../../read/replica-report.ts';
import { Age, Marked, PlainTable } from '../../components/marks.tsx';
import { grouped, plural } from '../../state/amounts.ts';

const KINDS: Readonly<Record<string, string>> = {
  unknown_field: 'undeclared field',
  vanished_field: 'field no longer sent',
  changed_type: 'changed type',
  new_value: 'new label',
  new_parameter: 'undeclared parameter',
  new_endpoint: 'undeclared endpoint',
};

/** How upstream differs from the declarations, and the items that could not be stored. */
export function DriftList({ replica }: { readonly replica: ReplicaReport }): JSX.Element {
  const { quarantined, drift } = replica.status;
  const fresh = drift.filter(({ isNew }) => isNew).length;
  return (
    <>
      <p>
        {drift.length === 0 ? (
          <Marked level="good">The API responds as declared.</Marked>
        ) : (
          <Marked level={fresh > 0 ? 'attention' : 'good'}>
            The API differs from the declarations in {plural(drift.length, 'way')}, {fresh} of them new.
          </Marked>
        )}
      </p>
      {replica.drift.length > 0 && (
        <PlainTable
          caption="Drift, newest first"
          columns={['Field', 'Change', '#Times', 'Last seen', 'Example']}
          rows={replica.drift.map((one) => [
            `${one.resource} ${one.path}`,
            `${KINDS[one.kind] ?? one.kind}${one.detail === null ? '' : `: ${one.detail}`}`,
            grouped(one.count),
            <Age key="seen" time={one.lastSeenAt} />,
            one.example === null ? '' : <code class="example">{one.example}</code>,
          ])}
        />
      )}
      <p>
        {quarantined === 0 ? (
          <Marked level="good">The quarantine is empty.</Marked>
        ) : (
          <Marked level="attention">{plural(quarantined, 'item')} in quarantine.</Marked>
        )}
      </p>
      {replica.quarantine.length > 0 && (
        <PlainTable
          caption="Items in quarantine, newest first"
          columns={['Resource', 'Reason', 'Last seen', 'Item']}
          rows={replica.quarantine.map((one) => [
            one.resource,
            one.reason,
            <Age key="seen" time={one.lastSeenAt} />,
            <code key="item" class="example">
              {one.item}
            </code>,
          ])}
        />
      )}
    </>
  );
}
