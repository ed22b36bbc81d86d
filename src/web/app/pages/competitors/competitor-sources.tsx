import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { domainColumn, knownOwner, ownerColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measuredColumn, StatisticValue } from '../../components/measured.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** The domains cited by responses that mention a competitor, and whether citing its own pages goes with mentioning it. */
export function CompetitorSources({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      <div class="full">
        <CitedAndMentioned id={id} />
      </div>
      <div class="full">
        <CitedWithIt id={id} />
      </div>
    </>
  );
}

function CitedWithIt({ id }: { readonly id: string }): JSX.Element {
  const { params, linkTo } = useScope();
  const data = useQuery('competitor_domains', params === null ? null : { ...params, competitor_id: id });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      domainColumn(linkTo, { competitor: null }),
      ownerColumn((row) => (row['is_own'] === true ? 'this competitor' : knownOwner(textOf(row['owner'])))),
      measuredColumn({
        id: 'share',
        label: 'Share',
        about: 'Of the responses that mention the competitor (n), the share that cites the domain.',
        n: 'mentions',
      }),
      { id: 'responses', label: 'Responses', unit: 'count', value: (row) => numberOf(row['responses']) },
      {
        id: 'with_brand',
        label: 'With the brand',
        about: 'Number of these responses that also mention the brand.',
        unit: 'count',
        value: (row) => numberOf(row['with_brand']),
      },
    ],
    [linkTo],
  );
  return (
    <Frame
      title="Cited with it"
      about="Domains cited by responses that mention the competitor; its own domains first."
      data={data}
      empty="No response in this range mentions the competitor and cites a page."
    >
      <DataTable caption="Cited with it" items={items} columns={columns} keyOf={(row) => textOf(row['domain'])} />
    </Frame>
  );
}

function CitedAndMentioned({ id }: { readonly id: string }): JSX.Element {
  const { params, format } = useScope();
  const data = useQuery('mentioned_and_cited', params === null ? null : { ...params, competitor_id: id });
  const row = useMemo(() => toRecords(data.table)[0] ?? null, [data.table]);
  const count = (name: string): string => format.value(numberOf(row?.[name]), 'count');
  const line = (label: string, mentioned: string, not: string, rate: string, n: number): JSX.Element => (
    <tr>
      <th scope="row">{label}</th>
      <td class="number">{count(mentioned)}</td>
      <td class="number">{count(not)}</td>
      <td class="number" data-value={numberOf(row?.[rate]) ?? undefined}>
        <StatisticValue title={label} statistic={{ ...measurementOf(row, rate), n }} unit="ratio" />
      </td>
    </tr>
  );
  const sum = (a: string, b: string): number => (numberOf(row?.[a]) ?? 0) + (numberOf(row?.[b]) ?? 0);
  return (
    <Frame
      title="Cited and mentioned"
      about="Mention rate of responses that cite its own pages, and of other responses. A difference is a correlation, not a cause."
      data={data}
      empty="Upstream reports no website for this competitor, so its own pages are unknown."
    >
      <section class="table-box" tabIndex={0} aria-label="Rows of Cited and mentioned">
        <table>
          <thead>
            <tr>
              <th scope="col">Responses that</th>
              <th scope="col" class="number">
                mention it
              </th>
              <th scope="col" class="number">
                do not
              </th>
              <th scope="col" class="number">
                Mention rate
              </th>
            </tr>
          </thead>
          <tbody>
            {line(
              'cite its pages',
              'mentioned_and_cited',
              'cited_only',
              'rate_cited',
              sum('mentioned_and_cited', 'cited_only'),
            )}
            {line('do not', 'mentioned_only', 'neither', 'rate_not_cited', sum('mentioned_only', 'neither'))}
          </tbody>
        </table>
      </section>
    </Frame>
  );
}
