import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { useScope } from '../../state/scope.tsx';
import { measureOf } from '../../state/shown-measures.ts';
import { NEWEST_ALERTS } from '../alerts/alert-table.ts';
import { EngineTable } from '../competitors/engine-matrix.tsx';
import { TOP_GAPS, TopDomains } from './cited-sources.tsx';
import { EntityVisibility } from './entity-visibility.tsx';
import { Morning } from './morning.tsx';
import { OverviewTiles } from './overview-tiles.tsx';
import { PromptMovers } from './prompt-movers.tsx';
import { Ranking } from './ranking.tsx';

/** Maximum number of gaps, so that the block is about as high as the one beside it. */
const GAPS_MAX = 5;

/** Rows of the table of engines. */
const ROWS_MAX = 5;

/** The first page: the numbers of a brand, their history and their changes. */
export default function Overview(): JSX.Element {
  const { linkTo } = useScope();
  return (
    <>
      <PageHead title="Overview">
        <FilterBar />
      </PageHead>
      <Morning />
      <OverviewTiles />
      <div class="two">
        <EntityVisibility />
        <Ranking />
        <EngineTable
          title="Where you stand on each engine"
          about="Visibility of the brand and of its most visible competitors by engine. Green leads an engine; ▲ and ▼ are changes beyond chance."
          measure={measureOf('visibility')}
          to={linkTo('/competitors')}
          rowsMax={ROWS_MAX}
        />
        <DeclaredTable {...NEWEST_ALERTS} />
        <PromptMovers />
        <DeclaredTable {...TOP_GAPS} request={{ limit: GAPS_MAX, open: true }} />
      </div>
      <TopDomains />
    </>
  );
}
