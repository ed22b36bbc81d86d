import type { JSX } from 'preact';
import type { RunCost } from '../../../../warehouse/ledger/run-costs.ts';
import type { OperationsReport } from '../../../page-data/operations-report.ts';
import type { JobLine } from '../../../page-data/status-lines.ts';
import { Age, Marked, PlainTable } from '../../components/marks.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { grouped, size, span } from '../../state/amounts.ts';

/** Levels of the results of runs and jobs. */
const LEVELS: Readonly<Record<string, string>> = {
  complete: 'good',
  done: 'good',
  running: 'busy',
  failed: 'problem',
};

function Result({ status, error }: { readonly status: string; readonly error: string | null }): JSX.Element {
  return (
    <>
      <Marked level={LEVELS[status] ?? 'attention'}>{status}</Marked>
      {error !== null && (
        <div class="why clamped" title={error}>
          {error}
        </div>
      )}
    </>
  );
}

/** The last runs with their cost. */
export function RunTable({ runs }: { readonly runs: readonly RunCost[] }): JSX.Element {
  if (runs.length === 0) return <p class="quiet">No runs yet.</p>;
  return (
    <>
      <PlainTable
        caption="Last runs, newest first"
        columns={[
          'Started',
          'Result',
          '#Duration',
          '#Requests',
          '#Retries',
          '#Wasted',
          '#Inserted',
          '#Updated',
          '#Deleted',
          '#Data',
        ]}
        rows={runs.map((run) => [
          <span key="started" title={run.runId}>
            <Timestamp time={run.startedAt} />
          </span>,
          <Result key="result" status={run.status} error={run.error} />,
          run.durationMs === null ? '' : span(run.durationMs),
          ...[run.requests, run.retries, run.wasted, run.inserted, run.updated, run.deleted].map((n) => grouped(n)),
          size(run.bytes),
        ])}
      />
      <p class="quiet">A request is wasted when its page changed nothing.</p>
    </>
  );
}

/** The jobs, when they run next and how they ended. */
export function JobTable({
  jobs,
  runsJobs,
}: {
  readonly jobs: readonly JobLine[];
  readonly runsJobs: boolean;
}): JSX.Element {
  return (
    <>
      <p class="quiet">
        {runsJobs
          ? 'This server runs the jobs when they are due.'
          : 'This server does not run jobs; cron, systemd or another process must run them.'}
      </p>
      {jobs.length > 0 && (
        <PlainTable
          caption="Jobs"
          columns={['Job', 'Steps', 'When', 'Next', 'Last run']}
          rows={jobs.map((job) => [
            <span key="name" title={job.about}>
              {job.name}
            </span>,
            job.steps.join(', '),
            <code key="when">{job.timeZone === 'UTC' ? job.cron : `${job.cron} ${job.timeZone}`}</code>,
            job.enabled ? <Age key="next" time={job.next} /> : 'turned off',
            job.last === null ? (
              'never'
            ) : (
              <div key="last">
                <Result status={job.last.status} error={job.last.error} /> <Age time={job.last.startedAt} />
              </div>
            ),
          ])}
        />
      )}
    </>
  );
}

const NEXT = { everything: 'loads everything', changes: 'loads changes', nothing: 'has nothing to load' };

/** The destinations and their last loads. */
export function DestinationTable({ destinations }: Pick<OperationsReport, 'destinations'>): JSX.Element {
  return (
    <PlainTable
      caption="Destinations"
      columns={['Destination', 'Last load', '#Rows', '#Data version', 'Next load']}
      rows={destinations.map(({ name, last, next }) => [
        last === null ? name : `${name} (${last.kind})`,
        last === null ? (
          'never'
        ) : (
          <div key="last">
            <Result status={last.error === null ? 'done' : 'failed'} error={last.error} /> <Age time={last.at} />
            {last.error !== null && last.loadedAt !== null && (
              <div class="quiet">
                loaded before: <Age time={last.loadedAt} />
              </div>
            )}
          </div>
        ),
        last?.rows == null ? '' : grouped(last.rows),
        last?.dataVersion == null ? '' : grouped(last.dataVersion),
        next === null ? '' : NEXT[next],
      ])}
    />
  );
}

/** The keys of this server. Their texts are not known. */
export function KeyTable({ keys, now }: Pick<OperationsReport, 'keys' | 'now'>): JSX.Element {
  if (keys === null) return <Marked level="problem">The key file is damaged: all API keys are rejected.</Marked>;
  if (keys.length === 0) {
    return (
      <p class="quiet">
        No keys yet. Run <code>sightline keys create NAME</code>.
      </p>
    );
  }
  return (
    <PlainTable
      caption="Keys of this server"
      columns={['Name', 'Begins with', 'Created', 'Last used', 'Expires']}
      rows={keys.map((key) => [
        key.name,
        <code key="prefix">{key.prefix}…</code>,
        key.createdAt.slice(0, 10),
        <Age key="used" time={key.lastUsedAt} never="not since the server started" />,
        key.expiresAt !== null && key.expiresAt <= now ? (
          <Marked key="expired" level="problem">
            expired
          </Marked>
        ) : (
          <Age key="expires" time={key.expiresAt} />
        ),
      ])}
    />
  );
}
