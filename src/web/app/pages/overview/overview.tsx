import type { JSX } from 'preact';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { useScope } from '../../state/scope.tsx';
import { GapDomains, TopDomains } from './cited-sources.tsx';
import { EngineVisibility } from './engine-visibility.tsx';
import { NewestAlerts } from './newest-alerts.tsx';
import { OverviewTiles } from './overview-tiles.tsx';
import { PromptMovers } from './prompt-movers.tsx';
import { VoiceOverTime, VoiceTable } from './voice-share.tsx';

/** The first page: the numbers of a brand, their history and their changes. */
export default function Overview(): JSX.Element {
  const { brand } = useScope();
  return (
    <>
      <PageHead title={brand?.name ?? 'Overview'} />
      <FilterBar />
      <OverviewTiles />
      <div class="grid">
        <EngineVisibility />
        <VoiceOverTime />
        <VoiceTable />
        <div class="full">
          <PromptMovers />
        </div>
        <TopDomains />
        <GapDomains />
        <div class="full">
          <NewestAlerts />
        </div>
      </div>
    </>
  );
}
