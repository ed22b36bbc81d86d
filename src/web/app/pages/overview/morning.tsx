import type { JSX } from 'preact';
import type { Brief } from '../../../../metrics/explain/brief-result.ts';
import { WhenLoaded } from '../../components/parts.tsx';
import { plural } from '../../state/amounts.ts';
import { useResource } from '../../state/data.tsx';
import { unbroken } from '../../state/format.ts';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';

/** The brief of the brand and days. Other filters do not apply. */
export function Morning(): JSX.Element {
  const { brand, range } = useScope();
  const params = brand && range && { brand: brand.id, from: range.from, to: range.to };
  const loaded = useResource<Brief>(params && '/data/brief', params ?? {}, 'last');
  return (
    <section class="card" aria-label="Brief">
      <WhenLoaded of={loaded}>{(brief) => <Contents brief={brief} />}</WhenLoaded>
    </section>
  );
}

function Contents({ brief }: { readonly brief: Brief }): JSX.Element {
  const { format } = useScope();
  const { headline, findings, from, to, beforeFrom, beforeTo, responses, partial } = brief;
  return (
    <div class="morning">
      <div>
        <p class="headline" dir="auto">
          {unbroken(headline)}
        </p>
        <p class="quiet">
          {format.days(from, to)}, compared with {format.days(beforeFrom, beforeTo)} · {plural(responses, 'response')}
        </p>
        {partial && (
          <p class="quiet" role="note">
            Not every day of these periods is read completely yet, so these statements may change.
          </p>
        )}
      </div>
      {findings.length > 0 && (
        <ul class="rows">
          {findings.map(({ kind, tone, size, sentence, detail, page }) => (
            <li key={`${kind} ${sentence}`}>
              <span class="tag" data-tone={tone}>
                {size}
              </span>
              <div>
                <Link to={page} dir="auto">
                  {unbroken(sentence)}
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
    </div>
  );
}
