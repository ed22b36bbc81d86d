import { EntityList, namesOf } from '../../components/entity-list.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import type { Option } from '../../state/scope.tsx';
import { groupedBy, type Row, type Table, textOf, toRecords } from '../../state/table.ts';

/** Joins the list of prompts with their measures, overall and by engine. */
export function promptRows(listed: Table | null, measured: Table | null, byEngine: Table | null): readonly Row[] {
  const measures = groupedBy(toRecords(measured), 'prompt_id');
  const engines = groupedBy(toRecords(byEngine), 'prompt_id');
  return toRecords(listed).map((row): Row => {
    const id = textOf(row['prompt_id']);
    const visibilities = (engines.get(id) ?? []).flatMap((each) =>
      ['', '_lower', '_upper', '_n'].map((part): [string, Row[string]] => [
        `engine ${textOf(each['engine'])}${part}`,
        each[`visibility${part}`] ?? null,
      ]),
    );
    return { ...measures.get(id)?.[0], ...Object.fromEntries(visibilities), ...row, prompt: row['text'] ?? null };
  });
}

const brandedOf = ({ branded }: Row): string | null =>
  branded === null ? null : branded === true ? 'branded' : 'non-branded';

/** The shown columns of the table of prompts. */
export const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'prompt',
    about: 'The text sent to the engines.',
    below: (row) => [row['topic'], brandedOf(row)].filter((text) => text !== null).join(' · ') || null,
  },
  { name: 'visibility', about: 'Share of responses that mention the brand.' },
  {
    name: 'visibility_change',
    label: 'Change',
    about: 'Visibility less that of the comparison range.',
  },
  'position',
  {
    name: 'responses',
    about: 'Responses of the range (n).',
    to: (row, { linkTo }) => linkTo('/responses', { prompt: textOf(row['prompt_id']) }),
  },
];

/** Returns the columns that the reader can choose, one per engine among them. */
export function hiddenColumns(engines: readonly Option[]): readonly GivenColumn[] {
  return [
    'sentiment',
    {
      name: 'topic',
      to: ({ topic_id: id }, { linkTo }) => (id === null ? null : linkTo('/prompts', { topic: textOf(id) })),
    },
    {
      name: 'tags',
      value: ({ tags }) =>
        namesOf(tags)
          .map(({ name }) => name)
          .join(', ') || null,
    },
    { name: 'branded', value: brandedOf },
    { name: 'state', about: 'Active, paused, or deleted; responses of deleted prompts still count.' },
    {
      name: 'responses_per_day',
      label: 'Per day',
      about: 'Responses per day of the range. The API reports no search volume.',
    },
    {
      name: 'competitors',
      label: 'Top competitors',
      value: ({ competitors }) => namesOf(competitors)[0]?.name ?? null,
      cell: ({ competitors }, { format }) => (
        <EntityList entities={namesOf(competitors)} beside={({ responses }) => format.value(responses, 'count')} />
      ),
    },
    ...engines.map(({ id, label }) => ({
      name: `engine ${id}`,
      label,
      about: `Visibility in the responses of ${label}.`,
    })),
  ];
}
