import { EntityList, namesOf } from '../../components/entity-list.tsx';
import { EntityDot, Timestamp } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { textOf } from '../../state/table.ts';

const OTHERS: readonly GivenColumn[] = [
  {
    name: 'brand_mentioned',
    label: 'Brand',
    isKey: true,
    value: ({ brand_mentioned: isMentioned, brand_position: position }) =>
      isMentioned !== true ? 'not mentioned' : position === null ? 'mentioned' : `position ${textOf(position)}`,
    dot: ({ brand_mentioned: isMentioned }) => (isMentioned === true ? 0 : null),
    below: ({ brand_sentiment: sentiment }) => textOf(sentiment) || null,
  },
  {
    name: 'competitors',
    value: ({ competitors }) => namesOf(competitors)[0]?.name ?? 'none',
    cell: ({ competitors }) => <EntityList entities={namesOf(competitors)} />,
  },
  { name: 'citations', label: 'Cited pages' },
];

/** Returns the columns of responses; `linkOf` returns the page of a response. */
export function responseColumns(linkOf: (id: string) => string): readonly GivenColumn[] {
  const name: GivenColumn = {
    name: 'prompt',
    label: 'Response',
    value: ({ prompt }) => textOf(prompt) || 'Prompt without text',
    to: (row) => linkOf(textOf(row['response_id'])),
    below: ({ engine, created_at: at }, { engineLabel, engineColour }) => (
      <>
        <EntityDot colour={engineColour(textOf(engine))} />
        {engineLabel(textOf(engine))} · <Timestamp time={textOf(at) || null} />
      </>
    ),
  };
  return [name, ...OTHERS];
}
