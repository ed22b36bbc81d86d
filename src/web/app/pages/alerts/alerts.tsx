import type { JSX } from 'preact';
import { Choice, FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { useRoute } from '../../state/router.tsx';
import { AlertDetail } from './alert-detail.tsx';
import { AlertTable } from './alert-table.tsx';
import { ALERT_TYPES, typeLabel } from './alert-types.ts';
import { AlertsOverTime } from './alerts-over-time.tsx';

/** Alerts of the brand, or one alert with the stored responses around it. */
export default function Alerts(): JSX.Element {
  const { path, search, navigate } = useRoute();
  const type = search.get('type');
  const alert = search.get('alert');
  const chooseType = (chosen: string | null): void => {
    const next = new URLSearchParams(search);
    if (chosen === null) next.delete('type');
    else next.set('type', chosen);
    navigate(`${path}?${next}`);
  };
  return (
    <>
      <PageHead
        title="Alerts"
        about="The service raises these alerts. Open one to compare it with the stored responses."
      >
        <FilterBar without={['comparison', 'engine', 'topic', 'tag', 'branded']} own={type === null ? 0 : 1}>
          <Choice
            label="Type"
            all="All types"
            value={type}
            options={ALERT_TYPES.map((id) => ({ id, label: typeLabel(id) }))}
            onChoose={chooseType}
          />
        </FilterBar>
      </PageHead>
      {alert !== null ? (
        <AlertDetail id={alert} />
      ) : (
        <div class="grid">
          <AlertsOverTime type={type} />
          <AlertTable type={type} />
        </div>
      )}
    </>
  );
}
