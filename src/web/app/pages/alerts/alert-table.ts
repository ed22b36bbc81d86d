import type { TableSpec } from '../../components/data-table.tsx';
import { textOf } from '../../state/table.ts';
import { typeColour, typeLabel } from './alert-types.ts';

const REPORTED = 'As the service reports it.';

/** The alerts of the range, newest first. */
export const ALERTS: TableSpec = {
  query: 'alert_list',
  title: 'Alerts',
  about:
    'Alerts detected in the range, including alerts that the API no longer lists. The filter searches headline, detail, competitor and domain.',
  empty: 'No alerts in this range.',
  sort: '-detected_at',
  isMain: true,
  columns: [
    {
      name: 'headline',
      label: 'Alert',
      value: ({ headline, type }) => textOf(headline) || typeLabel(textOf(type)),
      to: (row, { linkTo }) => linkTo('/alerts', {}, { alert: textOf(row['alert_id']) }),
      below: ({ competitor, domain }) => textOf(competitor) || textOf(domain) || null,
    },
    {
      name: 'type',
      value: ({ type }) => typeLabel(textOf(type)),
      dot: ({ type }) => typeColour(textOf(type)),
    },
    { name: 'previous', label: 'Before', about: REPORTED },
    { name: 'current', label: 'Then', about: REPORTED },
    { name: 'detected_at', label: 'Detected', unit: 'day', isKey: true },
  ],
  hidden: [
    'detail',
    'competitor',
    'domain',
    { name: 'gone_at', label: 'No longer listed', about: 'When a sync found that the API no longer lists it.' },
  ],
  facets: ['type', 'competitor'],
};
