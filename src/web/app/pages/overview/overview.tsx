import type { JSX } from 'preact';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { GapDomains, TopDomains } from './cited-sources.tsx';
import { EngineHeat } from './engine-heat.tsx';
import { EntityVisibility } from './entity-visibility.tsx';
import { Morning } from './morning.tsx';
import { NewestAlerts } from './newest-alerts.tsx';
import { OverviewTiles } from './overview-tiles.tsx';
import { PromptMovers } from './prompt-movers.tsx';
import { Ranking } from './ranking.tsx';

/** The first page: the numbers of a brand, their history and their changes. */
export default function Overview(): JSX.Element {
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
        <EngineHeat />
        <NewestAlerts />
        <PromptMovers />
        <GapDomains />
      </div>
      <TopDomains />
    </>
  );
}
