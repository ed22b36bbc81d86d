import type { ComponentChildren } from 'preact';
import type { ColumnSpec } from '../../components/data-table.tsx';
import { changeColumn, statisticColumn } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { NO_VALUE } from '../../state/format.ts';
import { Link } from '../../state/router.tsx';
import type { Scope } from '../../state/scope.tsx';
import type { PromptRow } from './prompt-rows.ts';

type Parts = Pick<Scope, 'engines' | 'format' | 'linkTo' | 'entityColour' | 'engineColour'>;

/** Returns the columns of the table of prompts, with a hidden one per engine. */
export function promptColumns(parts: Parts): readonly ColumnSpec<PromptRow>[] {
  return [...groupColumns(parts), ...measureColumns(parts), ...engineColumns(parts)];
}

function groupColumns({ linkTo }: Parts): readonly ColumnSpec<PromptRow>[] {
  return [
    {
      id: 'prompt',
      label: 'Prompt',
      about: 'The text sent to the engines.',
      value: ({ text }) => text,
      cell: (row) => <PromptName row={row} to={linkTo(`/prompts/${row.id}`, { prompt: null })} />,
      isWide: true,
    },
    {
      id: 'topic',
      label: 'Topic',
      about: 'Current topic.',
      value: ({ topic }) => topic,
      cell: ({ topic, topicId }) =>
        topic === null ? (
          NO_VALUE
        ) : (
          <Link class="clamped topic" to={linkTo('/prompts', { topic: topicId })} title={topic}>
            {topic}
          </Link>
        ),
      isHidden: true,
    },
    {
      id: 'tags',
      label: 'Tags',
      about: 'Current tags.',
      value: ({ tags }) => tags.map(({ name }) => name).join(', ') || null,
      cell: ({ tags }) => <span class="clamped topic">{tags.map(({ name }) => name).join(', ') || NO_VALUE}</span>,
      isHidden: true,
    },
    {
      id: 'branded',
      label: 'Branded',
      about: 'Whether the prompt names the brand.',
      value: ({ branded }) => (branded === null ? null : branded ? 'branded' : 'non-branded'),
      isHidden: true,
    },
    {
      id: 'state',
      label: 'State',
      about: 'Active, paused, or deleted upstream; responses of deleted prompts still count.',
      value: ({ state }) => state,
      isHidden: true,
    },
  ];
}

function measureColumns({ format, entityColour, linkTo }: Parts): readonly ColumnSpec<PromptRow>[] {
  return [
    {
      id: 'n',
      label: 'Responses',
      about: 'Responses of the range (n).',
      unit: 'count',
      value: ({ responses }) => responses,
      cell: ({ id, responses }) => (
        <Link to={linkTo('/responses', { prompt: id })}>{format.value(responses, 'count')}</Link>
      ),
    },
    statisticColumn<PromptRow>({
      id: 'visibility',
      label: 'Visibility',
      about: 'Share of responses that mention the brand.',
      statistic: ({ visibility }) => visibility,
      nameOf: ({ text }) => text,
    }),
    changeColumn<PromptRow>({
      id: 'change',
      label: 'Change',
      about: 'Visibility less that of the comparison range.',
      statistic: ({ visibility }) => visibility,
      nameOf: ({ text }) => text,
    }),
    {
      id: 'position',
      label: 'Position',
      about: 'Mean position in the responses that mention the brand; 1 is the first.',
      unit: 'position',
      value: ({ position }) => position,
    },
    {
      id: 'sentiment',
      label: 'Sentiment',
      about: 'Mean worth of the sentiment labels of the responses that mention the brand.',
      unit: 'score',
      value: ({ sentiment }) => sentiment,
    },
    {
      id: 'volume',
      label: 'Per day',
      about: 'Responses per day of the range. The API reports no search volume.',
      unit: 'number',
      value: ({ responsesPerDay }) => responsesPerDay,
      isHidden: true,
    },
    {
      id: 'competitors',
      label: 'Top competitors',
      about: 'The 3 tracked competitors that most responses of the prompt mention, with the number of responses.',
      value: ({ competitors }) => competitors.map(({ name }) => name).join(', ') || null,
      cell: ({ competitors }) => (
        <ul class="leaders">
          {competitors.map(({ id, name, responses }) => (
            <li key={id} title={name}>
              <EntityDot colour={entityColour(id)} />
              <span dir="auto">{name}</span> <span class="quiet">{format.value(responses, 'count')}</span>
            </li>
          ))}
        </ul>
      ),
      isHidden: true,
    },
  ];
}

function engineColumns({ engines }: Parts): readonly ColumnSpec<PromptRow>[] {
  return engines.map(({ id, label }) => ({
    ...statisticColumn<PromptRow>({
      id: `engine-${id}`,
      label,
      about: `Visibility in the responses of ${label}.`,
      statistic: (row) => row.engines.get(id) ?? {},
    }),
    isHidden: true,
  }));
}

function PromptName({ row, to }: { readonly row: PromptRow; readonly to: string }): ComponentChildren {
  return (
    <>
      <Link to={to} class="clamped" dir="auto" title={row.text}>
        {row.text === '' ? 'Prompt without text' : row.text}
      </Link>
      <span class="below" dir="auto">
        {[row.topic, row.branded === null ? null : row.branded ? 'branded' : 'non-branded']
          .filter((text) => text !== null)
          .join(' · ')}
        {row.state !== 'active' && <span class="tag">{row.state}</span>}
      </span>
    </>
  );
}
