import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { toPromptRows } from './prompt-rows.ts';
import { promptColumns } from './prompts-columns.tsx';
import '../../styles/prompts.css';

const SORT = { id: 'visibility', isDescending: false };

/** The prompts of a brand with their measures: three requests for all rows. */
export default function PromptsPage(): JSX.Element {
  const scope = useScope();
  const { params, engines, format, entityColour, engineColour } = scope;
  const listed = useQuery('prompt_list', params);
  const measured = useMetrics(
    params === null ? null : { ...params, metrics: 'visibility,position,sentiment', group_by: 'prompt' },
  );
  const byEngine = useMetrics(
    params === null ? null : { ...params, metrics: 'visibility', group_by: ['prompt', 'engine'], compare_to: 'none' },
  );
  const items = useMemo(
    () => toPromptRows(listed.table, measured.table, byEngine.table),
    [listed.table, measured.table, byEngine.table],
  );
  const columns = useMemo(
    () => promptColumns({ engines, format, entityColour, engineColour, linkTo: scope.linkTo }),
    [engines, format, scope.linkTo],
  );
  const error = listed.error ?? measured.error ?? byEngine.error;
  const isLoading = listed.isLoading || measured.isLoading || byEngine.isLoading;
  const isReady = measured.table !== null && byEngine.table !== null;
  const retry = (): void => {
    for (const each of [listed, measured, byEngine]) if (each.error !== null) each.retry();
  };
  return (
    <>
      <PageHead title="Prompts">
        <FilterBar />
      </PageHead>
      <Frame
        title="All prompts"
        about="Visibility is the share of a prompt’s responses that mention the brand. A change is beyond chance after correction for the number of prompts. The API reports no search volume; responses per day take its place."
        more={[measured.table, byEngine.table]}
        data={{ table: isReady ? listed.table : null, error, isLoading, retry }}
        empty="No prompt matches the filters."
      >
        <DataTable
          key={engines.map(({ id }) => id).join()}
          caption="All prompts"
          items={items}
          columns={columns}
          keyOf={({ id }) => id}
          sort={SORT}
          isInAddress
        />
      </Frame>
    </>
  );
}
