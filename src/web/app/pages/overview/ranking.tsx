import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { pageColours } from '../../charts/palette.ts';
import { TableBlock } from '../../components/data-table.tsx';
import { EntityDot } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** Rows that are shown; the brand is always one of them. */
const SHOWN_MAX = 7;
const COLUMNS: readonly GivenColumn[] = [
  { name: 'entity', cell: (row) => <EntityBar row={row} /> },
  'visibility',
  { name: 'visibility_change', label: 'Change' },
];

/** The brand and its competitors by visibility. */
export function Ranking(): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useMetrics(params && { ...params, metrics: 'visibility', group_by: 'entity' });
  const rows = useMemo<readonly Row[]>(() => {
    const share = (row: Row | undefined): number => numberOf(row?.['visibility']) ?? -1;
    const sorted = [...toRecords(data.table)].sort((a, b) => share(b) - share(a));
    return sorted
      .map((row, index): Row => ({ ...row, rank: index + 1, bar: share(row) / Math.max(share(sorted[0]), 1e-9) }))
      .filter((row) => textOf(row['competitor_id']) === '' || Number(row['rank']) <= SHOWN_MAX);
  }, [data.table]);
  return (
    <TableBlock
      title="Ranking"
      about="The brand and its tracked competitors by visibility, the share of responses that mention each. ≈ marks a change that chance may explain."
      data={data}
      to={linkTo('/competitors')}
      rows={rows}
      columns={COLUMNS}
    />
  );
}

function EntityBar({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const id = textOf(row['competitor_id']) || null;
  const name = textOf(row['entity']);
  const width = `${100 * Math.max(0, Number(row['bar']))}%`;
  return (
    <span class="entity-bar">
      <span class="rank">{textOf(row['rank'])}</span>
      <EntityDot colour={entityColour(id)} />
      <Link
        to={linkTo('/competitors', { competitor: id })}
        dir="auto"
        title={name}
        class={id === null ? 'own' : 'other'}
      >
        {name}
      </Link>
      <span class="bar" aria-hidden="true">
        <span style={{ width, background: pageColours.series(entityColour(id)) }} />
      </span>
    </span>
  );
}
