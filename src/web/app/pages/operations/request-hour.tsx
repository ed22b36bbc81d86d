import type { JSX } from 'preact';
import type { OperationsReport } from '../../../page-data/operations-report.ts';
import { grouped } from '../../state/amounts.ts';

/** Requests to upstream in each minute of the last hour, and the limit. */
export function HourOfRequests({ budget }: Pick<OperationsReport, 'budget'>): JSX.Element {
  const { limit, isDocumented, minutes } = budget;
  const most = Math.max(limit, ...minutes);
  const sum = minutes.reduce((total, one) => total + one, 0);
  return (
    <figure class="hour">
      <figcaption>
        {grouped(sum)} in total, {grouped(Math.max(...minutes))} in the busiest minute;{' '}
        {isDocumented ? 'documented' : 'allowed by the API'}: {grouped(limit)} per minute.
      </figcaption>
      <svg viewBox="0 0 360 80" preserveAspectRatio="none" aria-hidden="true">
        {minutes.map((requests, index) => (
          <rect
            key={index}
            class={requests > limit && !isDocumented ? 'over' : 'bar'}
            x={index * 6 + 0.5}
            width={5}
            y={80 - (78 * requests) / most}
            height={(78 * requests) / most}
          />
        ))}
        <line class="limit" x1={0} x2={360} y1={80 - (78 * limit) / most} y2={80 - (78 * limit) / most} />
      </svg>
      <p class="ends quiet" aria-hidden="true">
        <span>60 minutes ago</span>
        <span>now</span>
      </p>
    </figure>
  );
}
