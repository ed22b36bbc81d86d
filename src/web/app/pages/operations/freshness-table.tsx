import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FreshnessRow, ReplicaReport } from '../../../../read/replica-report.ts';
import type { BrandStatus, ResourceStatus } from '../../../../warehouse/ledger/warehouse-status.ts';
import { Choice } from '../../components/filter-bar.tsx';
import { Age, Marked, PlainTable } from '../../components/marks.tsx';
import { grouped, plural } from '../../state/amounts.ts';

/** The state of all resources in one line. */
export function freshnessLine(replica: ReplicaReport): string {
  const open = replica.freshness.filter((row) => stateOf(replica, row, null).level !== 'good');
  if (open.length === 0) return `all ${replica.freshness.length} resources are complete`;
  return `${open.length} of ${replica.freshness.length} resources are incomplete`;
}

/** When each resource was read, and the verification of each brand. Complete resources without missing days are one line. */
export function Freshness({ replica }: { readonly replica: ReplicaReport }): JSX.Element {
  const { brands, unlearned } = replica.status;
  const [chosen, setChosen] = useState<string | null>(null);
  const rows = replica.freshness.map((row) => ({ row, ...stateOf(replica, row, chosen) }));
  const generic = new Set(replica.status.resources.flatMap((one) => (one.generic === true ? [one.resource] : [])));
  const incomplete = rows.filter(({ level }) => level !== 'good');
  const complete = rows.filter(({ level }) => level === 'good');
  const oldest = complete.flatMap(({ readAt }) => readAt ?? []).sort((a, b) => a - b)[0] ?? null;
  const cells = ({ row, level, text, readAt, days, ranges }: (typeof rows)[number]) => [
    generic.has(row.resource) ? `${row.resource} (generic)` : row.resource,
    <Age key="age" time={readAt} />,
    <Marked key="state" level={level}>
      {text}
    </Marked>,
    <span key="days" title={ranges}>
      {grouped(days)}
    </span>,
  ];
  const columns = ['Resource', 'Last read', 'Coverage', '#Days missing'];
  return (
    <>
      {brands.length > 1 && (
        <Choice
          label="Brand"
          all="All brands (oldest)"
          value={chosen}
          options={brands.map(({ brandId: id, name }) => ({ id, label: name || id }))}
          onChoose={setChosen}
        />
      )}
      {incomplete.length > 0 && (
        <PlainTable caption="Incomplete resources" columns={columns} rows={incomplete.map(cells)} />
      )}
      {complete.length > 0 && (
        <details>
          <summary>
            <Marked level="good">
              {plural(complete.length, 'resource')} complete, no day missing; oldest read <Age time={oldest} />
            </Marked>
          </summary>
          <PlainTable caption="Complete resources" columns={columns} rows={complete.map(cells)} />
        </details>
      )}
      <h3>Brands</h3>
      {brands.length === 0 ? <p class="quiet">No brands.</p> : <Verification brands={brands} />}
      {replica.brandsLeftOut > 0 && (
        <p class="quiet">{plural(replica.brandsLeftOut, 'brand')} more; sightline status lists all.</p>
      )}
      {unlearned.length > 0 && (
        <p class="quiet">
          No known definition explains the API’s numbers: {unlearned.map(({ name }) => name).join(', ')}.
        </p>
      )}
    </>
  );
}

function Verification({ brands }: { readonly brands: readonly BrandStatus[] }): JSX.Element {
  return (
    <PlainTable
      caption="Verification of each brand"
      columns={['Brand', 'Verified through', 'Checked', '#Days that differ']}
      rows={brands.map((brand) => [
        <span key="name" class="clamped" title={brand.name ?? brand.brandId}>
          {brand.name || brand.brandId}
        </span>,
        brand.verifiedThrough ?? (brand.verifiedAt === null ? 'never verified' : 'not from its first day'),
        <Age key="checked" time={brand.verifiedAt} />,
        brand.differingDays === 0 ? '0' : <Marked level="attention">{grouped(brand.differingDays)}</Marked>,
      ])}
    />
  );
}

interface RowState {
  readonly level: 'good' | 'attention';
  readonly text: string;
  /** Oldest time of reading, epoch milliseconds. */
  readonly readAt: number | null;
  readonly days: number;
  readonly ranges: string;
}

function stateOf(replica: ReplicaReport, row: FreshnessRow, brandId: string | null): RowState {
  const chosen = replica.status.brands.findIndex((brand) => brand.brandId === brandId);
  const index = row.scope === 'brand' ? chosen : 0;
  const times = index < 0 ? row.readAt : [row.readAt[index] ?? null];
  const isPartial = index < 0 ? row.partial.includes('1') : row.partial[index] === '1';
  const read = times.filter((time) => time !== null);
  const known = replica.status.resources.find(({ resource }) => resource === row.resource);
  const days = missingDays(known, brandId);
  const unfinished =
    known === undefined || known.unfinished === 0 ? '' : `, ${plural(known.unfinished, 'list')} not finished`;
  const isComplete = read.length > 0 && !isPartial && read.length === times.length && days === 0;
  const text = read.length === 0 ? 'never read' : isComplete ? 'complete' : 'partly never read';
  return {
    level: isComplete && unfinished === '' ? 'good' : 'attention',
    text: `${text}${unfinished}`,
    readAt: read.length === 0 ? null : Math.min(...read) * 1000,
    days,
    ranges: (known?.gaps ?? [])
      .filter((gap) => brandId === null || gap.brandId === brandId)
      .map(({ from, to }) => (from === to ? from : `${from} to ${to}`))
      .join(', '),
  };
}

// The report lists only the newest ranges of missing days; `gapDays` and `gapBrands` count all.
function missingDays(known: ResourceStatus | undefined, brandId: string | null): number {
  if (known === undefined) return 0;
  if (brandId === null) return known.gapDays;
  return known.gapBrands.find((gap) => gap.brandId === brandId)?.days ?? 0;
}
