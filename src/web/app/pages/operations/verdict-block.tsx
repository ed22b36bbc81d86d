import type { JSX } from 'preact';
import type { OperationsReport } from '../../../page-data/operations-report.ts';
import type { Finding } from '../../../page-data/status-lines.ts';
import { Age, Marked } from '../../components/marks.tsx';
import { Facts } from '../../components/parts.tsx';
import { grouped } from '../../state/amounts.ts';

const WORDS = { good: 'All well', busy: 'Working', attention: 'Attention', problem: 'Problem' } as const;

/** The verdict, what to do about each finding, and the most important facts. */
export function VerdictBlock({ report }: { readonly report: OperationsReport }): JSX.Element {
  const [first, ...others] = report.findings;
  return (
    <section class="panel verdict" aria-label="Verdict">
      {first !== undefined && (
        <div class={`headline ${first.level}`}>
          <Marked level={first.level} />
          <div>
            <p class="word">{WORDS[first.level]}</p>
            <p class="sentence" role="status">
              {first.sentence}
            </p>
            <Remedy finding={first} />
          </div>
        </div>
      )}
      {others.length > 0 && (
        <ul class="findings">
          {others.map((finding) => (
            <li key={finding.sentence}>
              <Marked level={finding.level} />
              <div>
                <span class="hidden-text">{WORDS[finding.level]}: </span>
                {finding.sentence} <Remedy finding={finding} />
              </div>
            </li>
          ))}
        </ul>
      )}
      <Facts facts={factsOf(report)} />
    </section>
  );
}

function Remedy({ finding: { command, consequences } }: { readonly finding: Finding }): JSX.Element {
  return (
    <>
      {command !== null && <code class="command">{command}</code>}
      {consequences.length > 0 && (
        <ul class="consequences">
          {consequences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function factsOf({ replica, budget, jobs, runsJobs }: OperationsReport): (readonly [string, JSX.Element | string])[] {
  const brands = replica?.status.brands ?? [];
  const days = brands.flatMap(({ verifiedThrough }) => verifiedThrough ?? []);
  const through = days.length < brands.length ? null : (days.sort()[0] ?? null);
  const [next] = jobs.filter((job) => job.next !== null).sort((a, b) => ((a.next ?? '') < (b.next ?? '') ? -1 : 1));
  const now = budget.minutes.at(-1) ?? 0;
  const limit = `${grouped(budget.limit)}${budget.isDocumented ? ' (documented)' : ''}`;
  return [
    ['Data complete as of', <Age key="as-of" time={replica?.status.freshness?.asOf ?? null} />],
    ['Verified through', through ?? 'not yet'],
    ['Compared with the API', comparisonOf(replica?.status.comparison ?? null)],
    ['Requests this minute', `${grouped(now)} of ${limit}`],
    [
      'Next job',
      next === undefined ? (
        'none'
      ) : (
        <span key="next">
          {next.name} <Age time={next.next} />
          {runsJobs ? '' : ', not run here'}
        </span>
      ),
    ],
  ];
}

function comparisonOf(
  comparison: NonNullable<OperationsReport['replica']>['status']['comparison'],
): JSX.Element | string {
  if (comparison === null) return 'not yet';
  const { at, compared, equal, differing } = comparison;
  const text = `${grouped(equal)} of ${grouped(compared)} responses equal`;
  return (
    <span key="compared" title={differing.join('\n')}>
      {equal === compared ? text : <Marked level="attention">{text}</Marked>}, <Age time={at} />
    </span>
  );
}
