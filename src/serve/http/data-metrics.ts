import { VERSION } from '../../base/version.ts';
import { DAY_MS } from '../../contract/time.ts';
import { byName, type Declaration, ofCopy, type Sample, seconds } from './metric.ts';

/** Brands that have series of their own: each is some twenty. `sightline_brands` counts them all. */
const BRANDS_MAX = 50;

/** Metrics of the data: how current and whole they are, and the room that they take. */
export const dataMetrics: readonly Declaration[] = [
  {
    name: 'sightline_build_info',
    help: 'Always 1; the label tells the version.',
    labels: ['version'],
    read: () => [[1, { version: VERSION }]],
  },
  {
    name: 'sightline_copy_readable',
    help: '1 when the published copy can be read, 0 when there is none, or it is damaged and the one before is read.',
    read: ({ isReadable }) => [[isReadable ? 1 : 0]],
  },
  {
    name: 'sightline_read_timestamp_seconds',
    help: 'When upstream last confirmed what is held of a resource; the brand is empty for what belongs to the workspace.',
    labels: ['resource', 'brand'],
    read: ofCopy(({ report }) =>
      report.freshness.flatMap(({ resource, scope, readAt }) =>
        readAt
          .slice(0, BRANDS_MAX)
          .map(
            (at, index): Sample => [
              at,
              { resource, brand: scope === 'brand' ? (report.status.brands[index]?.brandId ?? '') : '' },
            ],
          ),
      ),
    ),
  },
  {
    name: 'sightline_calendar_states',
    help: 'Days of a brand, of the last 366: verified, whole, partial (read before their end), differs, missing.',
    labels: ['brand', 'state'],
    read: ofCopy(({ report }) =>
      report.calendars
        .slice(0, BRANDS_MAX)
        .flatMap(({ brandId: brand, counts }) =>
          Object.entries(counts).map(([state, days]): Sample => [days, { brand, state }]),
        ),
    ),
  },
  {
    name: 'sightline_verified_through_timestamp_seconds',
    help: "End of the last day through which a brand's numbers agree with upstream's, without a gap.",
    labels: ['brand'],
    read: ofCopy(({ report }) =>
      report.status.brands.slice(0, BRANDS_MAX).map(({ brandId: brand, verifiedThrough }): Sample => {
        return [verifiedThrough === null ? null : seconds(Date.parse(verifiedThrough) + DAY_MS), { brand }];
      }),
    ),
  },
  {
    name: 'sightline_verified_differences',
    help: "Days of a brand whose numbers differ from upstream's.",
    labels: ['brand'],
    read: ofCopy(({ report }) =>
      report.status.brands
        .slice(0, BRANDS_MAX)
        .map(({ brandId: brand, differingDays }): Sample => [differingDays, { brand }]),
    ),
  },
  {
    name: 'sightline_brands',
    help: `Brands there are; no more than ${BRANDS_MAX} have series of their own.`,
    read: ofCopy(({ report }) => [[report.status.brands.length + report.brandsLeftOut]]),
  },
  {
    name: 'sightline_storage_bytes',
    help: 'Room that a part of the workspace takes on the disk.',
    labels: ['part'],
    read: ({ surroundings }) => byName('part', surroundings.bytes),
  },
  {
    name: 'sightline_disk_free_bytes',
    help: 'Room left on the disk that the workspace is on.',
    read: ({ surroundings }) => [[surroundings.disk?.free]],
  },
  {
    name: 'sightline_disk_size_bytes',
    help: 'Size of the disk that the workspace is on.',
    read: ({ surroundings }) => [[surroundings.disk?.size]],
  },
  {
    name: 'sightline_data_version',
    help: 'Version of the data: grows with every change.',
    read: ofCopy(({ figures }) => [[figures.dataVersion]]),
  },
  {
    name: 'sightline_table_rows',
    help: 'Rows of a table, those marked as deleted among them.',
    labels: ['table'],
    read: ofCopy(({ figures }) => byName('table', figures.tables)),
  },
  {
    name: 'sightline_snapshots',
    help: 'Published Parquet snapshots.',
    read: ({ surroundings }) => [[surroundings.snapshots.count]],
  },
  {
    name: 'sightline_snapshot_timestamp_seconds',
    help: 'Of when the newest snapshot is; absent where there is none.',
    read: ({ surroundings }) => [[seconds(surroundings.snapshots.newestAt)]],
  },
  {
    name: 'sightline_snapshot_rows',
    help: 'Rows of the newest snapshot.',
    read: ({ surroundings: { snapshots } }) => (snapshots.newestAt === null ? [] : [[snapshots.newestRows]]),
  },
  {
    name: 'sightline_drift_findings',
    help: "Ways in which upstream's answers depart from what is known of them, by kind.",
    labels: ['kind'],
    read: ofCopy(({ figures }) => {
      const kinds = ['unknown_field', 'vanished_field', 'changed_type', 'new_value', 'implausible_value'];
      return kinds.map((kind) => [figures.drift.get(kind) ?? 0, { kind }]);
    }),
  },
  {
    name: 'sightline_quarantined_items',
    help: 'Items that upstream sent and that could not be taken as rows.',
    labels: ['resource'],
    read: ofCopy(({ report, figures }) =>
      report.freshness.map(({ resource }) => [figures.quarantined.get(resource) ?? 0, { resource }]),
    ),
  },
];
