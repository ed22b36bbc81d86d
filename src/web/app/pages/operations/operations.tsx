import type { ComponentChildren, JSX } from 'preact';
import type { BrandCalendar } from '../../../../read/calendar.ts';
import type { OperationsReport } from '../../../page-data/operations-report.ts';
import { PageHead } from '../../components/page-head.tsx';
import { Timestamp, WhenLoaded } from '../../components/parts.tsx';
import { RunningSync } from '../../components/running-sync.tsx';
import { SessionList } from '../../components/session-list.tsx';
import { grouped, size } from '../../state/amounts.ts';
import { useResource } from '../../state/data.tsx';
import { useLive } from '../../state/live.tsx';
import { DayCalendar } from './day-calendar.tsx';
import { DriftList } from './drift-list.tsx';
import { Freshness, freshnessLine } from './freshness-table.tsx';
import { DestinationTable, JobTable, KeyTable, RunTable } from './job-tables.tsx';
import { PointList, pointsLine } from './point-list.tsx';
import { HourOfRequests } from './request-hour.tsx';
import { SnapshotList } from './snapshot-list.tsx';
import { VerdictBlock } from './verdict-block.tsx';
import '../../styles/operations.css';

/** The state of the replica and of this server: the verdict, what to do, the running sync, and everything else folded. */
export default function Operations(): JSX.Element {
  const loaded = useResource<OperationsReport>('/status/data');
  const { data } = loaded;
  const { connection, progress } = useLive();
  if (data === null) {
    return (
      <>
        <h1>Operations</h1>
        <WhenLoaded of={loaded}>{() => null}</WhenLoaded>
      </>
    );
  }
  // The stream is newer than the report.
  const report = progress === undefined ? data : { ...data, progress };
  return (
    <div class="operations">
      <PageHead
        title="Operations"
        about={
          <span class="live" data-state={connection} role="status">
            {connection === 'live' ? 'live' : connection === 'lost' ? 'not connected' : 'connecting'}
          </span>
        }
      />
      {connection === 'lost' && (
        <p class="banner" role="status">
          The server cannot be reached. Retrying automatically. Shown data: <Timestamp time={report.now} />.
        </p>
      )}
      <VerdictBlock report={report} />
      {report.progress !== null && (
        <section class="panel" aria-label="Running sync">
          <h2>Running sync</h2>
          <RunningSync sync={report.progress} />
        </section>
      )}
      <Details report={report} />
      <p class="quiet">
        sightline {report.version}, as of <Timestamp time={report.now} />
      </p>
    </div>
  );
}

function Details({ report }: { readonly report: OperationsReport }): JSX.Element {
  const { replica, jobs, destinations, keys, snapshots, bytes, budget } = report;
  const empty = <p class="quiet">{emptyText(report)}</p>;
  const quarantined = replica?.status.quarantined ?? 0;
  const drift = replica?.status.drift.filter(({ isNew }) => isNew).length ?? 0;
  const sum = budget.minutes.reduce((total, one) => total + one, 0);
  const [lastRun] = replica?.runs ?? [];
  return (
    <>
      <Folded id="freshness" title="Freshness" line={replica === null ? 'no data' : freshnessLine(replica)}>
        {replica === null ? empty : <Freshness replica={replica} />}
      </Folded>
      <Folded id="days" title="Days" line={daysLine(report)}>
        {replica === null || replica.status.brands.length === 0 ? empty : <DayCalendar replica={replica} />}
      </Folded>
      <Folded id="requests" title="Requests" line={`${grouped(sum)} in the last hour`}>
        <HourOfRequests budget={budget} />
      </Folded>
      <Folded id="runs" title="Runs" line={lastRun === undefined ? 'none' : `the last is ${lastRun.status}`}>
        {replica === null ? empty : <RunTable runs={replica.runs} />}
      </Folded>
      <Folded id="changes" title="Drift and quarantine" line={`${drift} new, ${quarantined} in quarantine`}>
        {replica === null ? empty : <DriftList replica={replica} />}
      </Folded>
      <Folded id="calibration" title="Calibration" line={replica === null ? 'no data' : pointsLine(replica)}>
        {replica === null ? empty : <PointList replica={replica} />}
      </Folded>
      <Folded
        id="snapshots"
        title="Snapshots and sizes"
        line={`${snapshots.all} published; warehouse ${size(bytes.warehouse)}, published data ${size(bytes.replica)}`}
      >
        <SnapshotList snapshots={snapshots} />
      </Folded>
      <Folded id="jobs" title="Jobs" line={`${jobs.filter(({ enabled }) => enabled).length} turned on`}>
        <JobTable jobs={jobs} runsJobs={report.runsJobs} />
      </Folded>
      {destinations.length > 0 && (
        <Folded id="destinations" title="Destinations" line={destinationsLine(destinations)}>
          <DestinationTable destinations={destinations} />
        </Folded>
      )}
      <Folded id="keys" title="Keys" line={keys === null ? 'the key file is damaged' : `${keys.length}`}>
        <KeyTable keys={keys} now={report.now} />
      </Folded>
      <Folded id="sessions" title="Browser sessions" line="sign out other browsers">
        <SessionList />
      </Folded>
    </>
  );
}

interface FoldedProps {
  readonly id: string;
  readonly title: string;
  /** The contents in a few words. */
  readonly line: string;
  readonly children: ComponentChildren;
}

function Folded({ id, title, line, children }: FoldedProps): JSX.Element {
  return (
    <details id={id} class="panel folded">
      <summary>
        <h2>{title}</h2> <span class="quiet">{line}</span>
      </summary>
      <div class="folded-body">{children}</div>
    </details>
  );
}

function destinationsLine(destinations: OperationsReport['destinations']): string {
  const count = (is: (one: (typeof destinations)[number]) => boolean): number => destinations.filter(is).length;
  const failed = count(({ last }) => last !== null && last.error !== null);
  const current = count(({ last, next }) => last?.error === null && next === 'nothing');
  return `${current} of ${destinations.length} up to date${failed === 0 ? '' : `, ${failed} failed`}`;
}

function daysLine({ replica }: OperationsReport): string {
  const counts = replica?.calendars.map((one) => one.counts) ?? [];
  const sum = (name: keyof BrandCalendar['counts']): number => counts.reduce((total, one) => total + one[name], 0);
  const open = (['partial', 'differs', 'missing'] as const).filter((name) => sum(name) > 0);
  if (counts.length === 0) return 'no data';
  if (open.length === 0) return `all ${grouped(sum('verified') + sum('complete'))} complete`;
  return open.map((name) => `${grouped(sum(name))} ${name}`).join(', ');
}

function emptyText({ replicaState, progress }: OperationsReport): string {
  if (replicaState === 'unreadable') return 'The published data are damaged and cannot be shown.';
  return progress === null ? 'No data yet.' : 'No data yet. Data appear when the first sync has read all lists.';
}
