import type { JSX } from 'preact';
import { MeasureOverTime } from '../../components/measure-over-time.tsx';

/** Series colours of the kinds of owners; the brand's own domains have the brand's colour. */
const COLOURS: Readonly<Record<string, number>> = { owned: 0, competitor: 1, 'third party': 5, unknown: 3 };

const colourOf = (owner: string | null): number => COLOURS[owner ?? ''] ?? 9;

/** The share of citations by kind of owner over time. */
export function OwnerShare(): JSX.Element {
  return (
    <MeasureOverTime
      title="Citations by owner"
      about="Share of citations by owner of the domain: the brand (owned), a competitor, a third party; unknown if upstream does not report all websites."
      measure="citation_share"
      unit="ratio"
      groupBy="owner"
      idColumn="owner"
      labelColumn="owner"
      colourOf={colourOf}
      isStacked
      empty="No response in this range cites a page."
    />
  );
}
