import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SetupState } from '../../page-data/setup-state.ts';
import { EmptyState } from '../components/parts.tsx';
import { RunningSync } from '../components/running-sync.tsx';
import { useApi, useMe, useResource } from '../state/data.tsx';
import { useLive } from '../state/live.tsx';
import { Link, useRoute } from '../state/router.tsx';
import '../styles/operations.css';

/** How often data are looked for if the reader may not listen to the server. */
const POLL_MS = 10_000;

/** What is shown instead of a page until the workspace has data: the running sync, or the next step. */
export default function FirstRun(): JSX.Element {
  const api = useApi();
  const { navigate } = useRoute();
  const { features } = useMe().data ?? { features: { setup: false, operations: false } };
  const { progress } = useLive();
  const setup = useResource<SetupState>(features.setup ? '/data/setup' : null).data;
  const needsSetup = setup !== null && !setup.isConfigured;
  useEffect(() => {
    if (needsSetup) navigate('/setup', { replace: true });
  }, [needsSetup, navigate]);
  useEffect(() => {
    if (features.operations) return;
    const timer = setInterval(() => api.changed(), POLL_MS);
    return () => clearInterval(timer);
  }, [api, features.operations]);
  if (progress != null) {
    return (
      <section class="panel" aria-label="First sync">
        <h1>The first sync is running</h1>
        <p class="quiet">The pages show data as soon as the first part has been read.</p>
        <RunningSync sync={progress} />
      </section>
    );
  }
  return (
    <EmptyState>
      <h1>No data yet</h1>
      <p>The pages show data after the first sync.</p>
      {features.setup ? (
        <Link to="/setup">Set up the workspace and start the first sync</Link>
      ) : (
        <p>
          Run <code>sightline sync</code> on the machine that runs sightline.
        </p>
      )}
      {features.operations && <Link to="/operations">Show the operations page</Link>}
    </EmptyState>
  );
}
