import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';
import { MeasureOverTime } from '../../components/measure-over-time.tsx';
import { useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';

/** In place of blocks about competitors. */
export const NO_RIVALS = 'The brand has no tracked competitors, or no response in this range mentions one of them.';

/** A measure of the brand and its competitors over time. */
export function EntitiesOverTime({ measure }: { readonly measure: 'share_of_voice' | 'visibility' }): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const linkOf = useCallback((competitor: string | null) => linkTo('/competitors', { competitor }), [linkTo]);
  const note = useUpstreamNote(measure);
  const isShare = measure === 'share_of_voice';
  return (
    <MeasureOverTime
      title={isShare ? 'Share of voice over time' : 'Visibility over time'}
      about={
        isShare
          ? `Mentions of each as a share of all mentions of the brand and its tracked competitors.${note}`
          : 'Share of responses that mention the brand, and the same for each competitor.'
      }
      measure={measure}
      groupBy="entity"
      idColumn="competitor_id"
      labelColumn="entity"
      colourOf={entityColour}
      linkOf={linkOf}
      to={linkTo('/competitors')}
      empty={NO_RIVALS}
      isStacked={isShare}
    />
  );
}
