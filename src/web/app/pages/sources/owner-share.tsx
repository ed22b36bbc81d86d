import type { JSX } from 'preact';
import { NO_HUE } from '../../charts/palette.ts';
import { Frame } from '../../components/chart-frame.tsx';
import { MeasureOverTime } from '../../components/measure-over-time.tsx';
import { EmptyState } from '../../components/parts.tsx';
import { knownOwner } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';

/** Series colours of the kinds of owners; the brand's own domains have the brand's colour, and unknown owners are grey. */
const COLOURS: Readonly<Record<string, number>> = {
  owned: 0,
  competitor: 1,
  'third party': 5,
  unknown: NO_HUE,
  forum: 2,
  press: 3,
};

const colourOf = (owner: string | null): number => COLOURS[owner ?? ''] ?? 9;

/** The share of citations by kind of owner over time. */
export function OwnerShare(): JSX.Element {
  const { params } = useScope();
  const owners = useMetrics(params && { ...params, metrics: 'citation_share', group_by: 'owner', compare_to: 'none' });
  const rows = toRecords(owners.table);
  if (rows.length > 0 && rows.every(({ owner }) => knownOwner(textOf(owner)) === '')) {
    return (
      <Frame title="Citations by owner" data={owners}>
        <EmptyState>
          It is not known whose the cited domains are. Set the owner of a domain on its page: you, a competitor, a forum
          or the press.
        </EmptyState>
      </Frame>
    );
  }
  return (
    <MeasureOverTime
      title="Citations by owner"
      about="Share of citations by owner of the domain: the brand (owned), a competitor, a forum, press or a third party; unknown without a website or a mark."
      measure="citation_share"
      groupBy="owner"
      idColumn="owner"
      labelColumn="owner"
      colourOf={colourOf}
      isStacked
      empty="No response in this range cites a page."
    />
  );
}
