import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { Explained, Mark } from '../../components/measured.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

const COLUMNS: readonly GivenColumn[] = [
  'prompt',
  { name: 'visibility', label: 'Competitor', about: 'Share of the responses that mention it.', n: 'responses' },
  { name: 'brand_visibility', label: 'Brand', bounds: 'brand', n: 'responses' },
  {
    name: 'lead',
    about: 'Visibility of the competitor less that of the brand.',
    unit: 'ratio',
    cell: (row) => <Lead row={row} />,
  },
  { name: 'winner', value: ({ winner }) => textOf(winner) || 'neither' },
];
const HIDDEN: readonly GivenColumn[] = ['competitor_only', 'brand_only', 'p_adjusted'];
const FACETS = ['winner'];

/** The prompts by how much more often their responses mention a competitor than the brand. */
export function CompetitorPrompts({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const { params, format } = useScope();
  const data = useQuery('competitor_prompts', params && { ...params, competitor_id: id });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const count = (winner: string): string =>
    format.value(rows.filter((row) => row['winner'] === winner).length, 'count');
  return (
    <TableBlock
      title="Who wins its prompts"
      about="The winner of a prompt is mentioned more often than chance explains (McNemar’s test, corrected for the number of prompts)."
      data={data}
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      sentence={
        <>
          Of {format.value(rows.length, 'count')} prompts, <bdi>{name}</bdi> wins {count('competitor')} and the brand
          wins {count('brand')} beyond chance.
        </>
      }
    />
  );
}

function Lead({ row }: { readonly row: Row }): JSX.Element {
  const change = {
    change: numberOf(row['lead']),
    lower: null,
    upper: null,
    isSignificant: textOf(row['winner']) !== '',
  };
  const statistic = { value: change.change, n: numberOf(row['responses']), p: numberOf(row['p_adjusted']), change };
  return (
    <Explained title={textOf(row['prompt'])} label="Lead" statistic={statistic} unit="ratio">
      <Mark change={change} unit="ratio" isHigherBetter={null} />
    </Explained>
  );
}
