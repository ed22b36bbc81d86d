import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ScopeWith, useScope } from '../../state/scope.tsx';
import { CompetitorDetail } from './competitor-detail.tsx';
import { CO_MENTIONS, ENTITIES } from './competitor-tables.ts';
import { EngineMatrix } from './engine-matrix.tsx';
import { EntitiesOverTime } from './entities-over-time.tsx';
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
          <PageHead title="Competitors" filters={{}} />
          <div class="grid">
            <DeclaredTable {...ENTITIES} />
            <div class="pair">
              <EntitiesOverTime measure="share_of_voice" />
              <EntitiesOverTime measure="visibility" />
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
