import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { AgainstBrand } from '../../components/against-brand.tsx';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { Tile } from '../../components/tile.tsx';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { statisticOf } from '../../state/series.ts';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';
import { textOf, toRecords } from '../../state/table.ts';
import { CompetitorPrompts } from './competitor-prompts.tsx';
import { CitedAndMentioned } from './competitor-sources.tsx';
import { CITED_WITH_IT } from './competitor-tables.ts';
import { TrackedHistory } from './tracked-history.tsx';

/** One competitor: its measures, the prompts where it wins, the domains cited with it, and its history. */
export function CompetitorDetail({ id }: { readonly id: string }): JSX.Element {
  const { params, linkTo, competitors, entityColour } = useScope();
  const tracked = competitors.find((competitor) => competitor.id === id);
  const history = useQuery('tracked_competitors', params);
  const row = toRecords(history.table).findLast((each) => each['competitor_id'] === id);
  const name = tracked?.label ?? (textOf(row?.['competitor']) || 'Competitor');
  const isRemoved = tracked === undefined && row !== undefined;
  return (
    <>
      <PageHead
        title={
          <>
            {tracked !== undefined && <EntityDot colour={entityColour(id)} />}
            <span dir="auto">{name}</span>
          </>
        }
        about={
          <span class="links">
            <Link to={linkTo('/competitors', { competitor: null })}>All competitors</Link>
            <Link to={linkTo('/responses', { competitor: id })}>Responses that mention it</Link>
          </span>
        }
        filters={{}}
      />
      {isRemoved && (
        <p class="state">
          This competitor is not tracked now, so it has no share of voice or visibility. Its mentions in stored
          responses are below.
        </p>
      )}
      {!isRemoved && <CompetitorTiles id={id} />}
      <div class="grid">
        {!isRemoved && <AgainstBrand title="Visibility against the brand" competitor={id} />}
        <CompetitorPrompts id={id} name={name} />
        <CitedAndMentioned id={id} />
        <DeclaredTable {...CITED_WITH_IT} request={{ competitor_id: id }} />
        <TrackedHistory only={id} />
      </div>
    </>
  );
}

function CompetitorTiles({ id }: { readonly id: string }): JSX.Element {
  const { params } = useScope();
  const metrics = ENTITY_MEASURES.map(({ name }) => name).join();
  // The same request as the table of all competitors.
  const data = useMetrics(params && { ...params, metrics, group_by: 'entity' });
  const row = useMemo(
    () => toRecords(data.table).find((each) => each['competitor_id'] === id) ?? null,
    [data.table, id],
  );
  return (
    <div class="tiles">
      {ENTITY_MEASURES.map(({ name, title, about, unit }) => (
        <Tile
          key={name}
          title={title}
          about={about.replaceAll('the brand', 'it').replaceAll('The brand’s', 'Its')}
          unit={unit}
          {...statisticOf(row, name)}
          table={data.table}
          isLoading={data.isLoading || (data.table === null && data.error === null)}
        />
      ))}
    </div>
  );
}
