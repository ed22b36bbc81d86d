import type { ComponentChildren, JSX } from 'preact';
import { hueOf, patternOf } from '../charts/palette.ts';
import type { ApiError } from '../state/api.ts';
import { NO_VALUE, type Unit } from '../state/format.ts';
import { Link, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';

interface PageHeadProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** The title of a page; beside it, a text or the days of the page's numbers. */
export function PageHead({ title, children }: PageHeadProps): JSX.Element {
  const { range, format } = useScope();
  const beside = children ?? (range && format.days(range.from, range.to));
  return (
    <div class="page-head">
      <h1 dir="auto">{title}</h1>
      {beside !== null && (
        <p class="quiet" dir="auto">
          {beside}
        </p>
      )}
    </div>
  );
}

/** The dot of an entity in its colour and shape, which stands before its name. */
export function EntityDot({ colour }: { readonly colour: number }): JSX.Element {
  return <span class={`dot series-${hueOf(colour)}`} data-shape={patternOf(colour).symbol} aria-hidden="true" />;
}

/** The kind of the owner of a domain. */
export function OwnerTag({ owner }: { readonly owner: string }): JSX.Element {
  return (
    <span class="tag" data-owner={owner}>
      {owner}
    </span>
  );
}

export interface DeltaProps {
  readonly change: number | null;
  readonly lower?: number | null;
  readonly upper?: number | null;
  /** Whether chance alone rarely explains the change; null if that cannot be tested. */
  readonly isSignificant?: boolean | null;
  /** Whether the values are complete counts, not samples, so that their change is shown without a test. */
  readonly isExact?: boolean;
  readonly unit: Unit;
  /** Whether higher values are better. Null for measures that are neither. */
  readonly isHigherBetter: boolean | null;
  /** Shows the change only; the title still has interval and significance. For cells of tables. */
  readonly isShort?: boolean;
  /** Why there is no change. */
  readonly reason?: string | null;
}

/** A change against the comparison range, with its interval, its significance and whether it is good. */
export function Delta(props: DeltaProps): JSX.Element {
  const { change, lower, upper, isSignificant, isExact = false, unit, isHigherBetter, isShort = false } = props;
  const { format } = useScope();
  if (change === null) {
    return (
      <span class="delta" title={props.reason ?? undefined}>
        {isShort ? NO_VALUE : 'no comparison'}
      </span>
    );
  }
  const isGood = isHigherBetter === null || change === 0 ? null : change > 0 === isHigherBetter;
  const tone = isSignificant !== true || isGood === null ? 'neutral' : isGood ? 'good' : 'bad';
  const hasInterval = typeof lower === 'number' && typeof upper === 'number';
  const interval = hasInterval ? `95 % interval ${format.change(lower, unit)} to ${format.change(upper, unit)}` : '';
  const tested = isSignificant === true ? 'significant' : isSignificant === false ? 'within chance' : 'not tested';
  const verdict = isExact ? '' : tested;
  const arrow = change > 0 ? '▲' : change < 0 ? '▼' : '■';
  return (
    <span class="delta" data-tone={tone} title={[interval, verdict].filter((part) => part !== '').join('; ')}>
      <span aria-hidden="true">{isSignificant === true || isExact ? arrow : '≈'} </span>
      {format.change(change, unit)} <span class={isShort ? 'hidden-text' : 'delta-verdict'}>{verdict}</span>
      {hasInterval && <span class="hidden-text">, {interval}</span>}
    </span>
  );
}

/** A time in UTC; the title has the local time of the reader. */
export function Timestamp({ time }: { readonly time: string | null }): JSX.Element {
  const { format } = useScope();
  if (time === null) return <span>{format.time(null)}</span>;
  return (
    <time dateTime={time} title={`${format.localTime(time)} (your time)`}>
      {format.time(time)}
    </time>
  );
}

/** Text in place of data that do not exist, with the next step. */
export function EmptyState({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="state">{children}</div>;
}

/** Shows an error of a request, and a button that repeats it. */
export function ErrorState({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }): JSX.Element {
  const signIn = useSignInPath();
  if (error.status === 401) {
    return (
      <div class="state" role="alert">
        <p>You are not signed in.</p>
        <Link to={signIn}>Sign in</Link>
      </div>
    );
  }
  return (
    <div class="state" role="alert">
      <p>{error.message}</p>
      <p class="quiet">
        Code <code>{error.code}</code>
        {error.requestId !== null && (
          <>
            , request <code>{error.requestId}</code>
          </>
        )}
      </p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

// Signing in leads back to the page.
function useSignInPath(): string {
  const { path, search } = useRoute();
  const query = search.toString();
  return `/sign-in?${new URLSearchParams({ to: query === '' ? path : `${path}?${query}` })}`;
}
