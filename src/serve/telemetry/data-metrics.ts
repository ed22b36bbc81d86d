import { VERSION } from '../../base/version.ts';
import { DAY_MS } from '../../contract/time.ts';
import { byName, type Declaration, ofReplica, type Sample, seconds } from './metric.ts';

/** Maximum number of brands with their own series, about 20 each. `sightline_brands` counts all brands. */
const BRANDS_MAX = 50;

/** Metrics of the data: freshness, completeness and storage. */
export const dataMetrics: readonly Declaration[] = [
  {
    name: 'sightline_build_info',
    help: 'Always 1; the label is the version.',
    labels: ['version'],
    read: () => [[1, { version: VERSION }]],
  },
  {
    name: 'sightline_replica_readable',
    help: '1 if the replica can be read; 0 if there is none, or if it is damaged and the previous one is in use.',
    read: ({ isReadable }) => [[isReadable ? 1 : 0]],
  },
  {
    name: 'sightline_read_timestamp_seconds',
    help: 'Last time upstream confirmed the stored data of a resource; brand is empty for resources of the workspace.',
    labels: ['resource', 'brand'],
    read: ofReplica(({ report }) =>
      report.freshness.flatMap(({ resource, scope, readAt }) =>
        readAt
          .slice(0, BRANDS_MAX)
          .map((at, index): Sample => [
            at,
            { resource, brand: scope === 'brand' ? (report.status.brands[index]?.brandId ?? '') : '' },
          ]),
      ),
    ),
  },
  {
    name: 'sightline_calendar_states',
    help: 'Days of a brand, of the last 366: verified, complete (read after their end), partial (before it), differs, missing.',
    labels: ['brand', 'state'],
    read: ofReplica(({ report }) =>
      report.calendars
        .slice(0, BRANDS_MAX)
        .flatMap(({ brandId: brand, counts }) =>
          Object.entries(counts).map(([state, days]): Sample => [days, { brand, state }]),
        ),
    ),
  },
  {
    name: 'sightline_verified_through_timestamp_seconds',
    help: "End of the last day up to which a brand's numbers agree with upstream's without a gap.",
    labels: ['brand'],
    read: ofReplica(({ report }) =>
      report.status.brands.slice(0, BRANDS_MAX).map(({ brandId: brand, verifiedThrough }): Sample => {
        return [verifiedThrough === null ? null : seconds(Date.parse(verifiedThrough) + DAY_MS), { brand }];
      }),
    ),
  },
  {
    name: 'sightline_verified_differences',
    help: "Days of a brand whose numbers differ from upstream's.",
    labels: ['brand'],
    read: ofReplica(({ report }) =>
      report.status.brands
        .slice(0, BRANDS_MAX)
        .map(({ brandId: brand, differingDays }): Sample => [differingDays, { brand }]),
    ),
  },
  {
    name: 'sightline_brands',
    help: `Number of brands; at most ${BRANDS_MAX} have their own series.`,
    read: ofReplica(({ report }) => [[report.status.brands.length + report.brandsLeftOut]]),
  },
  {
    name: 'sightline_storage_bytes',
    help: 'Disk space used by the warehouse, the replica, the snapshots and the raw pages (raw).',
    labels: ['part'],
    read: ({ surroundings }) => byName('part', surroundings.bytes),
  },
  {
    name: 'sightline_disk_free_bytes',
    help: 'Free space on the disk of the workspace.',
    read: ({ surroundings }) => [[surroundings.disk?.free]],
  },
  {
    name: 'sightline_disk_size_bytes',
    help: 'Size of the disk of the workspace.',
    read: ({ surroundings }) => [[surroundings.disk?.size]],
  },
  {
    name: 'sightline_data_version',
    help: 'Version of the data; increases with every change.',
    read: ofReplica(({ figures }) => [[figures.dataVersion]]),
  },
  {
    name: 'sightline_table_rows',
    help: 'Rows of a table, including rows marked as deleted.',
    labels: ['table'],
    read: ofReplica(({ figures }) => byName('table', figures.tables)),
  },
  {
    name: 'sightline_snapshots',
    help: 'Number of published Parquet snapshots.',
    read: ({ surroundings }) => [[surroundings.snapshots.count]],
  },
  {
    name: 'sightline_snapshot_timestamp_seconds',
    help: 'Creation time of the newest snapshot; absent if there is none.',
    read: ({ surroundings }) => [[seconds(surroundings.snapshots.newestAt)]],
  },
  {
    name: 'sightline_snapshot_rows',
    help: 'Rows of the newest snapshot.',
    read: ({ surroundings: { snapshots } }) => (snapshots.newestAt === null ? [] : [[snapshots.newestRows]]),
  },
  {
    name: 'sightline_drift_findings',
    help: "Differences between upstream's responses and their declaration, by kind.",
    labels: ['kind'],
    read: ofReplica(({ figures }) => {
      const fields = ['unknown_field', 'vanished_field', 'changed_type', 'new_value', 'implausible_value'];
      const kinds = [...fields, 'new_parameter', 'new_endpoint'];
      return kinds.map((kind) => [figures.drift.get(kind) ?? 0, { kind }]);
    }),
  },
  {
    name: 'sightline_quarantined_items',
    help: 'Items sent by upstream that could not be stored as rows.',
    labels: ['resource'],
    read: ofReplica(({ report, figures }) =>
      report.freshness.map(({ resource }) => [figures.quarantined.get(resource) ?? 0, { resource }]),
    ),
  },
];
