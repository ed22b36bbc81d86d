import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../state/api.ts';
import { asApiError, useApi } from '../state/data.tsx';
import { useRoute } from '../state/router.tsx';
import '../styles/sign-in.css';

/** A path of this server; a text such as `//host` would lead elsewhere. */
const OWN_PATH = /^\/(?![/\\])/;

/**
 * Signs in with the one-time token in the fragment of the address, or with an API key, which is not stored. Then shows the page that
 * was asked for.
 */
export default function SignIn(): JSX.Element {
  const api = useApi();
  const { path, search, navigate } = useRoute();
  const [key, setKey] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const target = path === '/sign-in' ? (search.get('to') ?? '/') : null;
  const enter = async (secret: { readonly token: string } | { readonly key: string }): Promise<void> => {
    setIsBusy(true);
    setError(null);
    try {
      await api.send('POST', '/data/session', secret);
      if (target !== null) navigate(OWN_PATH.test(target) ? target : '/', { replace: true });
      api.changed();
    } catch (thrown) {
      setError(asApiError(thrown));
      setIsBusy(false);
      field.current?.focus();
    }
  };
  useEffect(() => {
    const token = window.location.hash.slice(1);
    if (token === '') return;
    // The token must not stay in the address or in the history.
    window.history.replaceState(null, '', `${window.location.pathname}${window.location.search}`);
    void enter({ token });
  }, []);
  return (
    <section class="panel sign-in" aria-labelledby="sign-in-title">
      <h1 id="sign-in-title">Sign in</h1>
      {error !== null && (
        <p class="problem" role="alert">
          {error.message}
        </p>
      )}
      <p>
        On the machine that runs sightline, run <code>sightline open</code>: it opens a link that signs this browser in.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter({ key: key.trim() });
        }}
      >
        <div class="field">
          <label for="sign-in-key">Or use an API key of this server</label>
          <input
            id="sign-in-key"
            ref={field}
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="gsk_…"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </div>
        <button type="submit" class="strong" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
      <p class="quiet">
        The key is not stored in the browser; it is exchanged for a session, which you can end at any time.
      </p>
    </section>
  );
}
