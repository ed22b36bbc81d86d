import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SetupProblem, SetupState, SetupTest } from '../../page-data/setup-state.ts';
import { EmptyState, ErrorState, WhenLoaded } from '../components/parts.tsx';
import { RunningSync } from '../components/running-sync.tsx';
import { grouped, plural, span } from '../state/amounts.ts';
import type { ApiError } from '../state/api.ts';
import { asApiError, useApi, useMe, useResource } from '../state/data.tsx';
import { useLive } from '../state/live.tsx';
import { Link } from '../state/router.tsx';
import '../styles/operations.css';
import '../styles/sign-in.css';

/** How often the state is requested while a step runs. */
const POLL_MS = 1_000;
/** Brands of a key that are named. */
const NAMED_MAX = 8;

/** The setup of a workspace: address and key, their test, the estimate, and the first sync. Only for the owner of the folder. */
export default function Setup(): JSX.Element {
  const me = useMe().data;
  if (me?.features.setup !== true) {
    return (
      <EmptyState>
        <h1>Set up</h1>
        <p>
          Only the owner of the folder can set up this workspace: run <code>sightline open</code> on the machine that
          runs sightline, or <code>sightline init</code>.
        </p>
      </EmptyState>
    );
  }
  return <OwnSetup />;
}

function OwnSetup(): JSX.Element {
  const api = useApi();
  const me = useMe().data;
  const { progress } = useLive();
  const loaded = useResource<SetupState>('/data/setup');
  const [sent, setSent] = useState<SetupState | null>(null);
  const [test, setTest] = useState<SetupTest | null>(null);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const state = sent ?? loaded.data;
  const post = async <T,>(path: string, body: object = {}): Promise<T | null> => {
    try {
      setFailure(null);
      return (await (await api.send('POST', path, body)).json()) as T;
    } catch (thrown) {
      setFailure(asApiError(thrown));
      return null;
    }
  };
  const change = async (path: string): Promise<void> => setSent(await post<SetupState>(path));
  const isBusy = state?.estimate.state === 'running' || state?.sync.state === 'running';
  useEffect(() => {
    if (!isBusy) return;
    const timer = setInterval(() => {
      const { signal } = new AbortController();
      api.get<SetupState>('/data/setup', {}, signal).then(setSent, () => undefined);
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [api, isBusy]);
  if (state === null) return <WhenLoaded of={loaded}>{() => null}</WhenLoaded>;
  const submit = async (fields: { readonly baseUrl: string; readonly key: string }): Promise<void> => {
    const result = await post<SetupTest>('/data/setup/test', fields);
    setTest(result);
    if (result?.ok === true) await change('/data/setup/estimate');
  };
  return (
    <section class="panel setup" aria-labelledby="setup-title">
      <h1 id="setup-title">Set up workspace {state.workspace}</h1>
      {failure !== null && <ErrorState error={failure} />}
      {state.isConfigured ? (
        <Tested state={state} test={test} />
      ) : (
        <SettingsForm problem={test?.ok === false ? test.problem : null} onSubmit={submit} />
      )}
      {state.isConfigured && <EstimateStep state={state} onAsk={() => change('/data/setup/estimate')} />}
      {state.isConfigured && state.sync.state !== 'running' && progress == null && me?.hasData !== true && (
        <button type="button" class="strong" onClick={() => void change('/data/setup/start')}>
          Start the first sync
        </button>
      )}
      <ProblemText problem={state.sync.problem} />
      {progress != null && progress !== undefined ? (
        <RunningSync sync={progress} />
      ) : (
        state.sync.state === 'running' && <p role="status">The first sync is starting.</p>
      )}
      {me?.hasData === true && (
        <p role="status">
          The first data have arrived. <Link to="/">Show the overview</Link>
        </p>
      )}
    </section>
  );
}

interface SettingsFormProps {
  readonly problem: SetupProblem | null;
  readonly onSubmit: (fields: { readonly baseUrl: string; readonly key: string }) => Promise<void>;
}

const FIELDS = [
  { name: 'baseUrl', label: 'Address of the API', type: 'text', placeholder: 'https://api.example.com/v1' },
  { name: 'key', label: 'Key of the workspace', type: 'password' },
] as const;

function SettingsForm({ problem, onSubmit }: SettingsFormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [isTesting, setIsTesting] = useState(false);
  useEffect(() => {
    form.current?.querySelector<HTMLInputElement>(`[name="${problem?.field}"]`)?.focus();
  }, [problem]);
  const submit = async (given: FormData): Promise<void> => {
    setIsTesting(true);
    await onSubmit({ baseUrl: String(given.get('baseUrl')).trim(), key: String(given.get('key')).trim() });
    setIsTesting(false);
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(new FormData(event.currentTarget));
      }}
    >
      <p>
        sightline copies the data of an API into this folder. The test sends one request. If it succeeds, address and
        key are written to <code>.env</code>, which only you can read.
      </p>
      {FIELDS.map(({ label, ...field }) => (
        <div key={field.name} class="field">
          <label for={`setup-${field.name}`}>{label}</label>
          <input
            {...field}
            id={`setup-${field.name}`}
            required
            spellcheck={false}
            autocomplete="off"
            aria-invalid={problem?.field === field.name}
          />
        </div>
      ))}
      <ProblemText problem={problem} />
      <button type="submit" class="strong" disabled={isTesting}>
        {isTesting ? 'Testing…' : 'Test and save'}
      </button>
    </form>
  );
}

function Tested({ state, test }: { readonly state: SetupState; readonly test: SetupTest | null }): JSX.Element {
  const named = test?.ok === true ? test.brands.slice(0, NAMED_MAX).join(', ') : '';
  const more = test?.ok === true ? test.brands.length - NAMED_MAX : 0;
  return (
    <p dir="auto" class="clamped">
      Connected to <code>{state.baseUrl}</code>.
      {test?.ok === true && ` Brands: ${named === '' ? 'none yet' : named}${more > 0 ? ` and ${more} more` : ''}.`}
      {test?.ok === true && ` ${plural(test.rateLimit, 'request')} per minute are allowed.`}
    </p>
  );
}

function EstimateStep({
  state,
  onAsk,
}: {
  readonly state: SetupState;
  readonly onAsk: () => Promise<void>;
}): JSX.Element | null {
  const { state: step, cost, problem } = state.estimate;
  if (step === 'running') return <p role="status">Estimating the first sync…</p>;
  if (cost !== null) {
    const time = cost.minutes === 0 ? 'less than a minute' : `about ${span(cost.minutes * 60_000)}`;
    const range = cost.least === cost.most ? '' : ` (${boundsOf(cost.least, cost.most)})`;
    return (
      <p role="status">
        The first sync will take about {plural(cost.requests, 'request')}
        {range}, {time}.
      </p>
    );
  }
  return (
    <>
      <ProblemText problem={problem} />
      {state.sync.state === 'none' && (
        <button type="button" onClick={() => void onAsk()}>
          Estimate the first sync
        </button>
      )}
    </>
  );
}

function ProblemText({ problem }: { readonly problem: SetupProblem | null }): JSX.Element | null {
  if (problem === null) return null;
  return (
    <p class="problem" role="alert">
      {problem.message} {problem.advice}
    </p>
  );
}

function boundsOf(least: number, most: number | null): string {
  return most === null ? `at least ${grouped(least)}` : `${grouped(least)} to ${grouped(most)}`;
}
