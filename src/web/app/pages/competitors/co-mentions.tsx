import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** Responses that mention the brand and a competitor, and who is named first. */
export function CoMentions(): JSX.Element {
  const { params } = useScope();
  const data = useQuery('co_mentions', params);
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useColumns();
  return (
    <Frame
      title="Mentioned together"
      about="Responses that mention both the brand and a competitor, and how often the brand comes first."
      data={data}
      empty="The brand has no tracked competitors."
    >
      <DataTable
        caption="Mentioned together"
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['competitor_id'])}
        sort={{ id: 'together', isDescending: true }}
        isPlain
      />
    </Frame>
  );
}

function useColumns(): readonly ColumnSpec<Row>[] {
  const { linkTo, entityColour } = useScope();
  return useMemo(() => {
    return [
      {
        id: 'competitor',
        label: 'Competitor',
        value: (row) => textOf(row['competitor']),
        cell: (row) => (
          <span class="named">
            <EntityDot colour={entityColour(textOf(row['competitor_id']))} />
            <Link to={linkTo('/competitors', { competitor: textOf(row['competitor_id']) })} dir="auto" class="clamped">
              {textOf(row['competitor'])}
            </Link>
          </span>
        ),
      },
      {
        id: 'together',
        label: 'Both mentioned',
        about: 'Responses that mention the brand and the competitor; the link lists them.',
        unit: 'count',
        value: (row) => numberOf(row['together']),
        cell: (row) => <Together row={row} />,
      },
      measuredColumn({
        id: 'share',
        label: 'Share of its mentions',
        about: 'Of the responses that mention the competitor, the share that also mentions the brand.',
        n: 'mentions',
      }),
      measuredColumn({
        id: 'ahead_share',
        label: 'Brand first',
        about: 'Of the responses that mention both with positions, the share in which the brand comes first.',
        bounds: 'ahead',
        n: 'placed',
      }),
    ];
  }, [linkTo, entityColour]);
}

function Together({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo, format } = useScope();
  const competitor = textOf(row['competitor_id']);
  const count = format.value(numberOf(row['together']), 'count');
  return (
    <Link
      to={linkTo('/responses', { competitor }, { mentioned: 'true' })}
      aria-label={`${count} responses that mention the brand and ${textOf(row['competitor'])}`}
    >
      {count}
    </Link>
  );
}
