import type { JSX } from 'preact';
import type { RunningSync as Sync } from '../../../sync/progress-file.ts';
import { grouped, plural, span } from '../state/amounts.ts';
import { Age, Marked, PlainTable } from './marks.tsx';
import { Facts } from './parts.tsx';

/** Progress of a sync in whole percent; at most 99 until it has ended. */
function percentOf({ done, expected }: Pick<Sync, 'done' | 'expected'>): number {
  return expected === 0 ? 0 : Math.min(99, Math.floor((100 * done) / expected));
}

/** The running sync with its progress and the estimated time to its end. */
export function RunningSync({ sync }: { readonly sync: Sync }): JSX.Element {
  const { command, pid, startedAt, requests, rows, done, expected, secondsToGo, waitedMs, budget, resources } = sync;
  const percent = percentOf(sync);
  const open = resources.filter((one) => one.done < one.expected || one.failed > 0);
  const facts = [
    ['Done', `${percent} %: ${grouped(done)} of ${plural(expected, 'request')}`],
    ['Remaining', secondsToGo === null ? 'not known yet' : `about ${span(secondsToGo * 1000)}`],
    ['Rows read', grouped(rows)],
    ['Sent, including retries', grouped(requests)],
    ['Waited for the budget', span(waitedMs)],
    ['Left this minute', `${grouped(budget.left)} of ${grouped(budget.capacity)}`],
  ] as const;
  return (
    <div class="running">
      <p>
        <code>{command.startsWith('sightline') ? command : `sightline ${command}`}</code> (process {pid}), started{' '}
        <Age time={startedAt} />
      </p>
      <progress max={100} value={percent} aria-label="Progress of the sync" />
      <Facts facts={facts} />
      {open.length > 0 && (
        <details>
          <summary>{plural(open.length, 'resource')} being read</summary>
          <PlainTable
            caption="Resources being read"
            columns={['Resource', '#Requests', '#Rows', '#Failed']}
            rows={open.map((one) => [
              one.name,
              `${grouped(one.done)} of ${grouped(one.expected)}`,
              grouped(one.rows),
              one.failed === 0 ? '0' : <Marked level="problem">{grouped(one.failed)}</Marked>,
            ])}
          />
        </details>
      )}
    </div>
  );
}
