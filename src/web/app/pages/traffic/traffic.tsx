import type { JSX } from 'preact';
import { PageHead } from '../../components/page-head.tsx';
import { EmptyState } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { BesideVisibility } from './beside-visibility.tsx';
import { TrafficCorrelation } from './traffic-correlation.tsx';
import { SourcesOverTime, SourceTable } from './traffic-sources.tsx';
import { TrafficTiles } from './traffic-tiles.tsx';

/** Visits that AI assistants referred, compared with the visibility of the brand. */
export default function Traffic(): JSX.Element {
  const { params, linkTo } = useScope();
  const property = useQuery('traffic_property', params);
  const sources = useQuery('traffic_sources', params);
  const row = toRecords(property.table)[0] ?? null;
  const isConnected = row?.['connected'] === true;
  const isEmpty = property.table !== null && sources.table !== null && sources.table.rows.length === 0 && !isConnected;
  return (
    <>
      <PageHead
        title="Traffic from AI assistants"
        {...(row !== null &&
          isConnected && {
            about: (
              <>
                Property <bdi>{textOf(row['property']) || 'without a name'}</bdi>. Days are those of the property's time
                zone, which the API does not name.
              </>
            ),
          })}
        filters={{}}
      />
      {isEmpty ? (
        <section class="panel" aria-label="Analytics property">
          <EmptyState>
            <p>No analytics property is connected for this brand, so there are no visits.</p>
            <p>
              Connect one in the app of the service; the next sync reads its visits. Until then see{' '}
              <Link to={linkTo('/')}>the visibility of the brand</Link>.
            </p>
          </EmptyState>
        </section>
      ) : (
        <>
          {row !== null && !isConnected && (
            <p class="quiet" role="note">
              The analytics property is no longer connected. The visits below were stored before that.
            </p>
          )}
          <TrafficTiles sources={sources} property={property} />
          <div class="grid">
            <BesideVisibility />
            <TrafficCorrelation />
            <SourcesOverTime />
            <SourceTable sources={sources} />
          </div>
        </>
      )}
    </>
  );
}
