import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';
import { typeColour, typeLabel } from './alert-types.ts';

const REPORTED = 'As the service reports it.';
const COLUMNS: readonly GivenColumn[] = [
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
  { name: 'detected_at', label: 'Detected', isKey: true },
];
const HIDDEN: readonly GivenColumn[] = [
  'detail',
  'competitor',
  'domain',
  { name: 'gone_at', label: 'No longer listed', about: 'When a sync found that the API no longer lists it.' },
];
const FACETS = ['type', 'competitor'];

/** The alerts of the range, newest first. */
export function AlertTable(): JSX.Element {
  const { params } = useScope();
  return (
    <TableBlock
      title="Alerts"
      about="Alerts detected in the range, including alerts that the API no longer lists. The filter searches headline, detail, competitor and domain."
      data={useQuery('alert_list', params)}
      empty="No alerts in this range."
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      sort="-detected_at"
      isMain
    />
  );
}
