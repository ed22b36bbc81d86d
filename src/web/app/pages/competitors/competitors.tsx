import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';
import { DeclaredTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { MeasureOverTime } from '../../components/measure-over-time.tsx';
import { PageHead } from '../../components/parts.tsx';
import { ScopeWith, useScope } from '../../state/scope.tsx';
import { CompetitorDetail } from './competitor-detail.tsx';
import { CO_MENTIONS, ENTITIES } from './competitor-tables.ts';
import { EngineMatrix } from './engine-matrix.tsx';
import { LOST_PROMPTS } from './lost-prompts.tsx';
import { TrackedHistory } from './tracked-history.tsx';

/** The brand against its tracked competitors, or one competitor in detail. */
export default function Competitors(): JSX.Element {
  const { filters } = useScope();
  // `competitor` selects the view of this page, and does not filter responses.
  return (
    <ScopeWith changes={{ competitor: null }}>
      {filters.competitor !== null ? (
        <CompetitorDetail id={filters.competitor} />
      ) : (
        <>
          <PageHead title="Competitors">
            <FilterBar />
          </PageHead>
          <div class="grid">
            <DeclaredTable {...ENTITIES} />
            <div class="pair">
              <OverTime measure="share_of_voice" />
              <OverTime measure="visibility" />
            </div>
            <EngineMatrix />
            <DeclaredTable {...CO_MENTIONS} />
            <DeclaredTable {...LOST_PROMPTS} />
            <TrackedHistory />
          </div>
        </>
      )}
    </ScopeWith>
  );
}

function OverTime({ measure }: { readonly measure: 'share_of_voice' | 'visibility' }): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const linkOf = useCallback((competitor: string | null) => linkTo('/competitors', { competitor }), [linkTo]);
  const isShare = measure === 'share_of_voice';
  return (
    <MeasureOverTime
      title={isShare ? 'Share of voice over time' : 'Visibility over time'}
      about={
        isShare
          ? 'Mentions of each as a share of all mentions of the brand and its tracked competitors.'
          : 'Share of responses that mention the brand, and the same for each competitor.'
      }
      measure={measure}
      unit="ratio"
      groupBy="entity"
      idColumn="competitor_id"
      labelColumn="entity"
      colourOf={entityColour}
      linkOf={linkOf}
      isStacked={isShare}
    />
  );
}
