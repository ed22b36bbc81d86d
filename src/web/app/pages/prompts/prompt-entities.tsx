import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { statisticColumn } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { type Measurement, numberOf, textOf, toRecords } from '../../state/table.ts';

interface Entity {
  readonly id: string | null;
  readonly name: string;
  readonly visibility: Measurement;
  readonly mentions: number | null;
  readonly position: number | null;
  readonly sentiment: number | null;
}

const SORT = { id: 'visibility', isDescending: true };

/** The brand and its competitors in the responses of a prompt. */
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
  const items = useMemo<readonly Entity[]>(
    () =>
      toRecords(data.table).map((row) => ({
        id: textOf(row['competitor_id']) || null,
        name: textOf(row['entity']),
        visibility: measurementOf(row, 'visibility'),
        mentions: numberOf(row['visibility_numerator']),
        position: numberOf(row['position']),
        sentiment: numberOf(row['sentiment']),
      })),
    [data.table],
  );
  const columns = useColumns(textOf(params?.['prompt']));
  return (
    <Frame
      title="Competitors in its responses"
      about="The brand and the tracked competitors that responses to this prompt mention."
      data={data}
      to={linkTo('/competitors')}
      linkLabel="All competitors"
    >
      <DataTable
        caption="Competitors in the responses"
        items={items}
        columns={columns}
        keyOf={({ id }) => id ?? 'brand'}
        sort={SORT}
        isPlain
      />
    </Frame>
  );
}

function useColumns(prompt: string): readonly ColumnSpec<Entity>[] {
  const { linkTo, entityColour } = useScope();
  return useMemo<readonly ColumnSpec<Entity>[]>(
    () => [
      {
        id: 'entity',
        label: 'Brand or competitor',
        value: ({ name }) => name,
        cell: ({ id, name }) => (
          <span class="clamped" title={name}>
            <EntityDot colour={entityColour(id)} />
            {id === null ? (
              <strong>{name}</strong>
            ) : (
              <Link to={linkTo('/responses', { prompt, competitor: id })}>{name}</Link>
            )}
          </span>
        ),
      },
      statisticColumn<Entity>({
        id: 'visibility',
        label: 'Visibility',
        about: 'Share of the responses that mention the entity.',
        statistic: ({ visibility }) => visibility,
        nameOf: ({ name }) => name,
      }),
      {
        id: 'mentions',
        label: 'Mentions',
        about: 'Responses that mention the entity.',
        unit: 'count',
        value: ({ mentions }) => mentions,
      },
      {
        id: 'position',
        label: 'Position',
        about: 'Mean position in the responses that mention the entity.',
        unit: 'position',
        value: ({ position }) => position,
      },
      { id: 'sentiment', label: 'Sentiment', unit: 'score', value: ({ sentiment }) => sentiment },
    ],
    [linkTo, entityColour, prompt],
  );
}
