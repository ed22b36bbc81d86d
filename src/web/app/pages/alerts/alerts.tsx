import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { useRoute } from '../../state/router.tsx';
import { AlertDetail } from './alert-detail.tsx';
import { ALERTS } from './alert-table.ts';
import { AlertsOverTime } from './alerts-over-time.tsx';

/** Alerts of the brand, or one alert with the stored responses around it. */
export default function Alerts(): JSX.Element {
  const alert = useRoute().search.get('alert');
  return (
    <>
      <PageHead
        title="Alerts"
        about="The service raises these alerts. Open one to compare it with the stored responses."
        filters={{ without: ['comparison', 'engine', 'topic', 'tag', 'branded'] }}
      />
      {alert !== null ? (
        <AlertDetail id={alert} />
      ) : (
        <div class="grid">
          <AlertsOverTime />
          <DeclaredTable {...ALERTS} />
        </div>
      )}
    </>
  );
}
