import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { pageColours } from '../../charts/palette.ts';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { changeColumn, statisticColumn } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Statistic, statisticOf } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';

/** The brand or a competitor, by its visibility. */
export interface Ranked {
  readonly id: string | null;
  readonly name: string;
  readonly rank: number;
  readonly visibility: Statistic;
}

/** Rows that are shown; the brand is always one of them. */
const SHOWN_MAX = 7;

/** The brand and its competitors by visibility. */
export function Ranking(): JSX.Element {
  const { params, filters, linkTo } = useScope();
  const data = useMetrics(params === null ? null : { ...params, metrics: 'visibility', group_by: 'entity' });
  const items = useMemo<readonly Ranked[]>(() => {
    const found = toRecords(data.table)
      .map((row) => ({
        id: textOf(row['competitor_id']) || null,
        name: textOf(row['entity']),
        visibility: statisticOf(row, 'visibility'),
      }))
      .sort((a, b) => (b.visibility.value ?? -1) - (a.visibility.value ?? -1))
      .map((entity, index) => ({ ...entity, rank: index + 1 }));
    return found.filter(({ id, rank }) => id === null || rank <= SHOWN_MAX);
  }, [data.table]);
  const most = Math.max(...items.map(({ visibility }) => visibility.value ?? 0));
  const columns = useMemo<readonly ColumnSpec<Ranked>[]>(() => {
    const common = {
      about: 'Share of responses that mention it.',
      statistic: ({ visibility }: Ranked) => visibility,
      nameOf: ({ name }: Ranked) => name,
    };
    const change = changeColumn<Ranked>({
      ...common,
      id: 'change',
      label: 'Change',
      // A rise of a competitor is neither good nor bad by itself.
      isGood: ({ id }) => (id === null ? true : null),
    });
    return [
      {
        id: 'brand',
        label: 'Brand',
        value: ({ name }) => name,
        cell: (item) => <EntityBar item={item} most={most} />,
      },
      statisticColumn<Ranked>({ ...common, id: 'visibility', label: 'Visibility' }),
      ...(filters.compareTo === 'none' ? [] : [change]),
    ];
  }, [filters.compareTo, most]);
  return (
    <Frame
      title="Ranking"
      about="The brand and its tracked competitors by visibility, the share of responses that mention each. ≈ marks a change that chance may explain."
      data={data}
      to={linkTo('/competitors')}
    >
      <DataTable
        key={filters.compareTo}
        caption="Ranking"
        items={items}
        columns={columns}
        keyOf={({ id }) => id ?? 'brand'}
        isPlain
      />
    </Frame>
  );
}

function EntityBar({ item: { id, name, rank, visibility }, most }: { item: Ranked; most: number }): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const share = most === 0 ? 0 : (visibility.value ?? 0) / most;
  return (
    <span class="entity-bar">
      <span class="rank">{rank}</span>
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
        <span style={{ width: `${share * 100}%`, background: pageColours.series(entityColour(id)) }} />
      </span>
    </span>
  );
}
