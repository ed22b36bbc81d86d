import type { JSX } from 'preact';
import type { TableSpec } from '../components/data-table.tsx';
import { MeasureOverTime } from '../components/measure-over-time.tsx';
import { useUpstreamNote } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';

const NO_RIVALS = 'The brand has no tracked competitors, or no response in this range mentions one of them.';

/** Share of voice of the brand and its competitors over time. */
export function VoiceOverTime(): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const note = useUpstreamNote('share_of_voice');
  return (
    <MeasureOverTime
      title="Share of voice over time"
      about={`Mentions of each as a share of all mentions of the brand and its tracked competitors.${note}`}
      measure="share_of_voice"
      unit="ratio"
      groupBy="entity"
      idColumn="competitor_id"
      labelColumn="entity"
      colourOf={entityColour}
      to={linkTo('/competitors')}
      empty={NO_RIVALS}
      isStacked
    />
  );
}

/** The brand and its competitors in this range. */
export const VOICES: TableSpec = {
  query: null,
  request: { metrics: 'share_of_voice,visibility,position', group_by: 'entity' },
  title: 'Brand and competitors',
  about: 'Changes are against the comparison range; ≈ marks a change that chance may explain.',
  page: ({ linkTo }) => linkTo('/competitors'),
  empty: NO_RIVALS,
  sort: '-share_of_voice',
  columns: [
    'entity',
    { name: 'share_of_voice', label: 'Share' },
    { name: 'share_of_voice_change', label: 'Change' },
    'visibility',
    'position',
  ],
};
