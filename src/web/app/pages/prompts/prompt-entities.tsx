import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'entity',
    label: 'Brand or competitor',
    to: ({ competitor_id: id }, { linkTo, params }) =>
      linkTo('/responses', { prompt: textOf(params?.['prompt']), competitor: textOf(id) || null }),
  },
  { name: 'visibility', about: 'Share of the responses that mention it.' },
  { name: 'visibility_numerator', label: 'Mentions', about: 'Responses that mention it.', unit: 'count' },
  { name: 'position', about: 'Mean position in the responses that mention it.' },
  'sentiment',
];

/** The brand and its competitors in the responses of a prompt, which is part of the scope. */
export function PromptEntities(): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useMetrics(
    params === null
      ? null
      : {
          ...params,
          metrics: 'visibility,position,sentiment',
          group_by: 'entity',
          compare_to: 'none',
          order: '-visibility,entity',
        },
  );
  return (
    <TableBlock
      title="Competitors in its responses"
      about="The brand and the tracked competitors that responses to this prompt mention."
      data={data}
      to={linkTo('/competitors')}
      linkLabel="All competitors"
      columns={COLUMNS}
      sort="-visibility"
    />
  );
}
