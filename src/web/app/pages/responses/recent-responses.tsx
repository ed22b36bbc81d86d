import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { toRecords } from '../../state/table.ts';
import { ResponseTable } from './response-table.tsx';

/** Rows of the first page. */
const SHOWN_MAX = 10;

/** The newest responses to a prompt. */
export function RecentResponses({ prompt }: { readonly prompt: string }): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useQuery('response_list', params === null ? null : { ...params, compare_to: 'none', limit: SHOWN_MAX });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  return (
    <Frame
      title="Its responses"
      about="The newest responses of the range."
      data={data}
      to={linkTo('/responses', { prompt, topic: null, tag: null, branded: null })}
      linkLabel="All its responses"
      empty="No response of this prompt in the range. Choose a longer range."
    >
      <ResponseTable caption="Newest responses" rows={rows} linkOf={(id) => linkTo(`/responses/${id}`, { prompt })} />
    </Frame>
  );
}
