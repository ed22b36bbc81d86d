import { EntityDot, Timestamp } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { textOf } from '../../state/table.ts';
import { namesOf } from '../prompts/prompts-columns.tsx';

/** Competitors of a row; the others are counted. */
const NAMES_MAX = 3;

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
    cell: ({ competitors }, { entityColour }) => {
      const names = namesOf(competitors);
      return (
        <ul class="leaders">
          {names.slice(0, NAMES_MAX).map(({ id, name }, index) => (
            <li key={index} title={name}>
              <EntityDot colour={entityColour(id)} />
              <bdi>{name}</bdi>
            </li>
          ))}
          {names.length > NAMES_MAX && <li class="quiet">and {names.length - NAMES_MAX} more</li>}
          {names.length === 0 && <li class="quiet">none</li>}
        </ul>
      );
    },
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
