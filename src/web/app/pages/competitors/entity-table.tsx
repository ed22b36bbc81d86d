import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';

const COLUMNS: readonly GivenColumn[] = [
  'entity',
  'visibility',
  'visibility_change',
  ...ENTITY_MEASURES.slice(1).map(({ name }) => name),
];
const HIDDEN: readonly GivenColumn[] = ENTITY_MEASURES.slice(1).map(({ name }) => `${name}_change`);

/** Measures of the brand and of each tracked competitor, with their changes. */
export function EntityTable(): JSX.Element {
  const { params } = useScope();
  const metrics = ENTITY_MEASURES.map(({ name }) => name).join();
  return (
    <TableBlock
      title="Brand and competitors"
      about="The sample n is responses, or mentions for position and sentiment. A change is beyond chance if chance rarely explains it, corrected for the number of rows."
      data={useMetrics(params === null ? null : { ...params, metrics, group_by: 'entity' })}
      columns={COLUMNS}
      hidden={HIDDEN}
      sort="-visibility"
      isMain
    />
  );
}
