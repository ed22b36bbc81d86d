import type { JSX } from 'preact';
import type { Brief } from '../../../../analytics/explain/brief-result.ts';
import { ErrorState } from '../../components/parts.tsx';
import { useResource } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';

/** What happened in the period, in a headline and at most four findings. Filters other than brand and days do not apply. */
export function Morning(): JSX.Element {
  const { brand, range, format } = useScope();
  const isKnown = brand !== null && range !== null;
  const params = isKnown ? { brand: brand.id, from: range.from, to: range.to } : {};
  const { data, error, isLoading, retry } = useResource<Brief>(isKnown ? '/data/brief' : null, params);
  if (error !== null) {
    return (
      <section class="card morning" aria-label="What happened">
        <ErrorState error={error} retry={retry} />
      </section>
    );
  }
  if (data === null) {
    return (
      <section class="card morning" aria-label="What happened" aria-busy="true">
        <div class="skeleton" role="status" aria-label="Loading" />
      </section>
    );
  }
  const { headline, findings, from, to, beforeFrom, beforeTo, responses } = data;
  return (
    <section class="card morning" aria-label="What happened" aria-busy={isLoading}>
      <div>
        <p class="headline" dir="auto">
          {headline}
        </p>
        <p class="quiet">
          {format.days(from, to)}, compared with {format.days(beforeFrom, beforeTo)} ·{' '}
          {format.value(responses, 'count')} {responses === 1 ? 'response' : 'responses'}
        </p>
      </div>
      {findings.length > 0 && (
        <ul>
          {findings.map(({ kind, tone, size, sentence, detail, page }) => (
            <li key={`${kind} ${sentence}`}>
              <span class="finding-size" data-tone={tone}>
                {size}
              </span>
              <div>
                <Link to={page} dir="auto">
                  {sentence}
                </Link>
                {detail !== null && (
                  <p class="quiet clamped" dir="auto">
                    {detail}
                  </p>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
