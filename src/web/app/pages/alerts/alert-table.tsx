import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { EntityDot, Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { type Scope, useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { typeColour, typeLabel } from './alert-types.ts';

/** The alerts of the range, newest first. */
export function AlertTable({ type }: { readonly type: string | null }): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useQuery('alert_list', params && { ...params, type });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo(() => columnsOf(linkTo), [linkTo]);
  return (
    <div class="full">
      <Frame
        title="Alerts"
        about="Alerts detected in the range, including alerts that the API no longer lists. The filter searches headline, detail, competitor and domain."
        data={data}
        empty="No alerts in this range."
      >
        <DataTable
          caption="Alerts"
          items={items}
          columns={columns}
          keyOf={({ alert_id: id }) => textOf(id)}
          sort={{ id: 'detected', isDescending: true }}
          isInAddress
        />
      </Frame>
    </div>
  );
}

function columnsOf(linkTo: Scope['linkTo']): readonly ColumnSpec<Row>[] {
  return [
    {
      id: 'detected',
      label: 'Detected',
      value: ({ detected_at: at }) => textOf(at),
      cell: ({ detected_at: at }) => <Timestamp time={textOf(at) || null} />,
    },
    {
      id: 'headline',
      label: 'Alert',
      isWide: true,
      value: ({ headline, detail }) => `${textOf(headline)} ${textOf(detail)}`,
      cell: ({ alert_id: id, headline, type: kind }) => (
        <Link to={linkTo('/alerts', {}, { alert: textOf(id) })} dir="auto" class="clamped">
          {textOf(headline) || typeLabel(textOf(kind))}
        </Link>
      ),
    },
    {
      id: 'type',
      label: 'Type',
      value: ({ type: kind }) => typeLabel(textOf(kind)),
      cell: ({ type: kind }) => (
        <>
          <EntityDot colour={typeColour(textOf(kind))} />
          {typeLabel(textOf(kind))}
        </>
      ),
    },
    { id: 'competitor', label: 'Competitor', value: ({ competitor }) => textOf(competitor) || null },
    { id: 'domain', label: 'Domain', value: ({ domain }) => textOf(domain) || null },
    {
      id: 'previous',
      label: 'Before',
      about: 'As the service reports it.',
      unit: 'number',
      value: ({ previous }) => numberOf(previous),
    },
    {
      id: 'current',
      label: 'Then',
      about: 'As the service reports it.',
      unit: 'number',
      value: ({ current }) => numberOf(current),
    },
    {
      id: 'listed',
      label: 'Listed',
      about: 'Whether the API still lists the alert.',
      value: ({ gone_at: gone }) => textOf(gone) || 'yes',
      cell: ({ gone_at: gone }) =>
        gone === null ? (
          'yes'
        ) : (
          <>
            no, since <Timestamp time={textOf(gone)} />
          </>
        ),
    },
  ];
}
