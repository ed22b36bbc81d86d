import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';

/** Alerts that are shown. */
const SHOWN_MAX = 4;

/** The newest alerts of the brand, of any day. */
export function NewestAlerts(): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('newest_alerts', brand === null ? null : { brand: brand.id, limit: SHOWN_MAX });
  const alerts = useMemo(() => toRecords(data.table), [data.table]);
  return (
    <Frame
      title="Newest alerts"
      about="Alerts of all days. Filters do not apply."
      data={data}
      to={linkTo('/alerts')}
      empty="No alerts yet."
    >
      <ul class="alerts">
        {alerts.map((alert) => (
          <li key={textOf(alert['alert_id'])}>
            <Link to={linkTo('/alerts', {}, { alert: textOf(alert['alert_id']) })} dir="auto" class="clamped">
              {textOf(alert['headline']) || textOf(alert['type'])}
            </Link>
            <p class="quiet">
              {textOf(alert['type']).replaceAll('_', ' ')} · <Timestamp time={textOf(alert['detected_at']) || null} />
            </p>
          </li>
        ))}
      </ul>
    </Frame>
  );
}
