import type { ComponentChildren, JSX } from 'preact';
import { pageColours, patternOf } from '../charts/palette.ts';
import type { ApiError } from '../state/api.ts';
import type { Loaded } from '../state/data.tsx';
import { Link, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';

/** The dot of an entity in its colour and shape, which stands before its name. */
export function EntityDot({ colour }: { readonly colour: number }): JSX.Element {
  const style = { background: pageColours.series(colour) };
  return <span class="dot" style={style} data-shape={patternOf(colour).symbol} aria-hidden="true" />;
}

interface FactsProps {
  readonly facts: readonly (readonly [name: ComponentChildren, value: ComponentChildren, about?: string | undefined])[];
}

/** Names with their values. */
export function Facts({ facts }: FactsProps): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value, about], index) => (
        <div key={index} title={about}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A state or a kind in a few words. */
export function Tag({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="tag" data-owner={text} dir="auto">
      {text}
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

interface NotFoundProps {
  /** Noun of the title, such as Prompt. */
  readonly what: string;
  readonly about: string;
  readonly to: string;
  readonly linkLabel: string;
}

/** A page in place of something that does not exist. */
export function NotFound({ what, about, to, linkLabel }: NotFoundProps): JSX.Element {
  return (
    <EmptyState>
      <h1>{what} not found</h1>
      <p>{about}</p>
      <Link to={to}>{linkLabel}</Link>
    </EmptyState>
  );
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

interface WhenLoadedProps<T> {
  readonly of: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows a result, or that it is loading, or its error. */
export function WhenLoaded<T>({ of: { data, error, isLoading, retry }, children }: WhenLoadedProps<T>): JSX.Element {
  if (error !== null) return <ErrorState error={error} retry={retry} />;
  if (data === null) return <div class="skeleton" role="status" aria-label="Loading" />;
  return <div aria-busy={isLoading}>{children(data)}</div>;
}

// Signing in leads back to the page.
function useSignInPath(): string {
  const { path, search } = useRoute();
  const query = search.toString();
  return `/sign-in?${new URLSearchParams({ to: query === '' ? path : `${path}?${query}` })}`;
}
