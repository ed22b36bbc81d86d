import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { COLUMNS, hiddenColumns, promptRows } from './prompts-columns.tsx';

const FACETS = ['branded', 'state', 'topic'];

/** The prompts of a brand with their measures: three requests for all rows. */
export default function PromptsPage(): JSX.Element {
  const { params, engines } = useScope();
  const listed = useQuery('prompt_list', params);
  const measured = useMetrics(params && { ...params, metrics: 'visibility,position,sentiment', group_by: 'prompt' });
  const byEngine = useMetrics(
    params && { ...params, metrics: 'visibility', group_by: ['prompt', 'engine'], compare_to: 'none' },
  );
  const rows = useMemo(
    () => promptRows(listed.table, measured.table, byEngine.table),
    [listed.table, measured.table, byEngine.table],
  );
  const hidden = useMemo(() => hiddenColumns(engines), [engines]);
  const all = [listed, measured, byEngine];
  const isReady = measured.table !== null && byEngine.table !== null;
  const retry = (): void => {
    for (const each of all) if (each.error !== null) each.retry();
  };
  return (
    <>
      <PageHead title="Prompts" filters={{}} />
      <TableBlock
        title="All prompts"
        about="Visibility is the share of a prompt’s responses that mention the brand. A change is beyond chance after correction for the number of prompts. The API reports no search volume; responses per day take its place."
        more={[measured.table, byEngine.table]}
        data={{
          table: isReady ? listed.table : null,
          error: all.find(({ error }) => error !== null)?.error ?? null,
          isLoading: all.some(({ isLoading }) => isLoading),
          retry,
        }}
        empty="No prompt matches the filters."
        rows={rows}
        columns={COLUMNS}
        hidden={hidden}
        facets={FACETS}
        sort="-visibility"
        isMain
      />
    </>
  );
}
