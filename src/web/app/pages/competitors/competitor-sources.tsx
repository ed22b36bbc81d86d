import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { numberOf, type Row, toRecords } from '../../state/table.ts';

const RATES: readonly GivenColumn[] = [
  { name: 'responses', label: 'Responses that', unit: 'text' },
  { name: 'mention', label: 'Mention it', unit: 'count' },
  { name: 'other', label: 'Do not', unit: 'count' },
  { name: 'rate', label: 'Mention rate' },
];

/** Whether citing the pages of a competitor goes with mentioning it: two rows of a table of four counts. */
export function CitedAndMentioned({ id }: { readonly id: string }): JSX.Element {
  const { params } = useScope();
  const data = useQuery('mentioned_and_cited', params && { ...params, competitor_id: id });
  const rows = useMemo(() => {
    const [row] = toRecords(data.table);
    const line = (responses: string, mentioned: string, not: string, name: string): Row => {
      const [mention, other] = [numberOf(row?.[mentioned]), numberOf(row?.[not])];
      const { value: rate, lower, upper } = measurementOf(row, name);
      const n = (mention ?? 0) + (other ?? 0);
      return { responses, mention, other, rate, rate_lower: lower, rate_upper: upper, rate_n: n };
    };
    return [
      line('cite its pages', 'mentioned_and_cited', 'cited_only', 'rate_cited'),
      line('do not', 'mentioned_only', 'neither', 'rate_not_cited'),
    ];
  }, [data.table]);
  return (
    <TableBlock
      title="Cited and mentioned"
      about="Mention rate of responses that cite its own pages, and of other responses. A difference is a correlation, not a cause."
      data={data}
      empty="The website of this competitor is not known."
      rows={rows}
      columns={RATES}
      isMatrix
    />
  );
}
