import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useScope } from '../../state/scope.tsx';
import type { SqlRunner } from './use-sql.ts';

const TICK_MS = 100;

export interface RunBarProps {
  readonly runner: SqlRunner;
  readonly onRun: () => void;
  readonly isEmpty: boolean;
}

/** Runs and cancels the query, and shows how long it has been running. */
export function RunBar({ runner, onRun, isEmpty }: RunBarProps): JSX.Element {
  const { isRunning, startedAt } = runner;
  return (
    <div class="row sql-run">
      <button type="button" class="strong" disabled={isEmpty} onClick={onRun}>
        Run
      </button>
      <button type="button" disabled={!isRunning} onClick={() => runner.cancel()}>
        Cancel
      </button>
      <span role="status">{isRunning ? 'Running' : ''}</span>
      {isRunning && <Elapsed since={startedAt} />}
    </div>
  );
}

// Not part of the status, which would be read ten times per second.
function Elapsed({ since }: { readonly since: number }): JSX.Element {
  const { format } = useScope();
  const [now, setNow] = useState(since);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="quiet" aria-hidden="true">
      {format.value(Math.max(0, Math.round((now - since) / TICK_MS) / 10), 'number')} s
    </span>
  );
}
