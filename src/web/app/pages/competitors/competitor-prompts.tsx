import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { promptColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { useQuery } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

const SHOWN = [
  { id: 'wins', label: 'Where it wins' },
  { id: 'losses', label: 'Where the brand wins' },
  { id: 'all', label: 'All prompts' },
];

/** The prompts by how much more often their responses mention a competitor than the brand. */
export function CompetitorPrompts({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const { params, format } = useScope();
  const data = useQuery('competitor_prompts', params === null ? null : { ...params, competitor_id: id });
  const [shown, setShown] = useSearchParam(
    'prompts',
    SHOWN.map((each) => each.id),
  );
  const all = useMemo(() => toRecords(data.table), [data.table]);
  const items = useMemo(() => {
    if (shown === 'all') return all;
    return all.filter(({ winner }) => winner === (shown === 'wins' ? 'competitor' : 'brand'));
  }, [all, shown]);
  const columns = useColumns();
  const count = (winner: string): string => format.value(all.filter((row) => row['winner'] === winner).length, 'count');
  return (
    <Frame
      title="Prompts where it wins"
      about={
        <>
          Of {format.value(all.length, 'count')} prompts, <span dir="auto">{name}</span> wins {count('competitor')} and
          the brand wins {count('brand')}. The winner of a prompt is mentioned more often than chance explains
          (McNemar’s test, corrected for the number of prompts).
        </>
      }
      data={data}
    >
      <Choice label="Prompts" value={shown} options={SHOWN} onChoose={setShown} />
      <DataTable
        caption="Prompts where it wins"
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['prompt_id'])}
        empty="No prompt: chance explains all differences."
      />
    </Frame>
  );
}

function useColumns(): readonly ColumnSpec<Row>[] {
  const { linkTo, format } = useScope();
  return useMemo(() => {
    return [
      promptColumn(linkTo, { competitor: null }),
      measuredColumn({ id: 'visibility', label: 'Competitor', n: 'responses' }),
      measuredColumn({ id: 'brand_visibility', label: 'Brand', bounds: 'brand', n: 'responses' }),
      {
        id: 'lead',
        label: 'Lead',
        about: 'Visibility of the competitor less that of the brand.',
        unit: 'ratio',
        value: (row) => numberOf(row['lead']),
        cell: (row) => (
          <>
            {format.change(numberOf(row['lead']), 'ratio')}
            <span class="beside">{row['winner'] === null ? 'within chance' : 'significant'}</span>
          </>
        ),
      },
      {
        id: 'only',
        label: 'Only one of them',
        about: 'Responses that mention only the competitor, and only the brand.',
        unit: 'count',
        value: (row) => numberOf(row['competitor_only']),
        cell: (row) =>
          `${format.value(numberOf(row['competitor_only']), 'count')} / ${format.value(numberOf(row['brand_only']), 'count')}`,
      },
      {
        id: 'p_adjusted',
        label: 'p',
        about: 'p value of McNemar’s test, corrected for the number of prompts.',
        unit: 'number',
        value: (row) => numberOf(row['p_adjusted']),
        cell: (row) => format.p(numberOf(row['p_adjusted'])),
      },
    ];
  }, [linkTo, format]);
}
