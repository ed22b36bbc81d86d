import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { responseColumns } from './response-columns.tsx';

/** Rows of the first page. */
const SHOWN_MAX = 10;

/** The newest responses to a prompt. */
export function RecentResponses({ prompt }: { readonly prompt: string }): JSX.Element {
  const { params, linkTo } = useScope();
  const columns = useMemo(() => responseColumns((id) => linkTo(`/responses/${id}`, { prompt })), [linkTo, prompt]);
  return (
    <TableBlock
      title="Its responses"
      about="The newest responses of the range."
      data={useQuery('response_list', params === null ? null : { ...params, compare_to: 'none', limit: SHOWN_MAX })}
      to={linkTo('/responses', { prompt, topic: null, tag: null, branded: null })}
      linkLabel="All its responses"
      empty="No response of this prompt in the range. Choose a longer range."
      columns={columns}
    />
  );
}
