import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';
import { useScope } from '../state/scope.tsx';
import { MeasureOverTime, type MeasureOverTimeProps } from './measure-over-time.tsx';

interface AgainstBrandProps extends Pick<MeasureOverTimeProps, 'title' | 'events' | 'to' | 'linkLabel'> {
  /** Null for the brand alone. */
  readonly competitor: string | null;
}

/** Visibility of the brand and of one competitor over time. */
export function AgainstBrand({ competitor, ...frame }: AgainstBrandProps): JSX.Element {
  const { entityColour } = useScope();
  const colourOf = useCallback(
    (entity: string | null) => (entity === null || entity === competitor ? entityColour(entity) : null),
    [competitor, entityColour],
  );
  return (
    <MeasureOverTime
      {...frame}
      about="Share of responses that mention the brand, and share that mention the competitor."
      measure="visibility"
      groupBy="entity"
      idColumn="competitor_id"
      labelColumn="entity"
      colourOf={colourOf}
      empty="No responses are stored for these days."
    />
  );
}
