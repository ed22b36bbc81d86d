import type { JSX } from 'preact';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { EntityDot } from './parts.tsx';

/** A competitor or a tag in a JSON column, and how often it is mentioned. */
export interface Named {
  readonly id: string;
  readonly name: string;
  readonly responses?: number;
  readonly mentions?: number;
}

/** Returns a JSON column with a list of objects. */
export function namesOf(value: unknown): readonly Named[] {
  return Array.isArray(value) ? (value as readonly Named[]) : [];
}

/** Competitors of a row that are shown; the others are counted. */
const SHOWN_MAX = 3;

interface EntityListProps {
  readonly entities: readonly Named[];
  /** Returns the text beside a name, such as a count. */
  readonly beside?: (one: Named) => string;
}

/** The first competitors of a list, each with a link. */
export function EntityList({ entities, beside }: EntityListProps): JSX.Element {
  const { entityColour, linkTo } = useScope();
  if (entities.length === 0) return <span class="quiet">none</span>;
  return (
    <ul class="leaders">
      {entities.slice(0, SHOWN_MAX).map((one, index) => (
        <li key={index} title={one.name}>
          <EntityDot colour={entityColour(one.id)} />
          <Link to={linkTo('/competitors', { competitor: one.id })} dir="auto">
            {one.name}
          </Link>{' '}
          {beside !== undefined && <span class="quiet">{beside(one)}</span>}
        </li>
      ))}
      {entities.length > SHOWN_MAX && <li class="quiet">and {entities.length - SHOWN_MAX} more</li>}
    </ul>
  );
}
