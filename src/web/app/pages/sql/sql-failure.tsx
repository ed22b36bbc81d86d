import type { JSX } from 'preact';
import { ErrorState } from '../../components/parts.tsx';
import type { ApiError } from '../../state/api.ts';
import { type ErrorPlace, withoutQuote } from './editor/error-place.ts';

export interface SqlFailureProps {
  readonly error: ApiError;
  /** The place that the error marks; null if it marks none. */
  readonly place: ErrorPlace | null;
  /** Moves the cursor to a position of the text. */
  readonly onGo: (position: number) => void;
}

/** Why a query failed, and where. */
export function SqlFailure({ error, place, onGo }: SqlFailureProps): JSX.Element {
  const isOfText = error.code.startsWith('sql_') || error.code.startsWith('query_');
  return (
    <section class="panel sql-failure" aria-label="Error of the query">
      {isOfText ? (
        <p role="alert">
          {place !== null && (
            <b>
              Line {place.line}, column {place.column}:{' '}
            </b>
          )}
          {error.code === 'query_canceled' ? 'The query was canceled.' : withoutQuote(error.message)}
        </p>
      ) : (
        <ErrorState error={error} />
      )}
      {place !== null && (
        <button type="button" class="small" onClick={() => onGo(place.from)}>
          Go to the error
        </button>
      )}
    </section>
  );
}
