import type { JSX } from 'preact';
import { PageHead } from '../../components/page-head.tsx';
import { useScope } from '../../state/scope.tsx';
import { measureOf } from '../../state/shown-measures.ts';
import { EngineTable } from '../competitors/engine-matrix.tsx';
import { WhatToDo } from '../opportunities/what-to-do.tsx';
import { TopDomains } from './cited-sources.tsx';
import { EntityVisibility } from './entity-visibility.tsx';
import { Morning } from './morning.tsx';
import { OverviewTiles } from './overview-tiles.tsx';
import { PromptMovers } from './prompt-movers.tsx';
import { Ranking } from './ranking.tsx';

/** Rows of the table of engines. */
const ROWS_MAX = 5;

/** The first page: the numbers of a brand, their history and their changes. */
export default function Overview(): JSX.Element {
  const { linkTo } = useScope();
  return (
    <>
      <PageHead title="Overview" filters={{}} />
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
        <WhatToDo />
      </div>
      <div class="grid">
        <PromptMovers />
        <TopDomains />
      </div>
    </>
  );
}
