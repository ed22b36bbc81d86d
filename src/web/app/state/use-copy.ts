import { useEffect, useState } from 'preact/hooks';

/** How long a copied text is reported, in milliseconds. */
const REPORTED_MS = 2_000;

/** Returns the function that copies a text, and what happened to the last one; empty after a short time. */
export function useCopy(): readonly [status: string, copy: (text: string) => void] {
  const [status, setStatus] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setStatus(''), REPORTED_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const copy = (text: string): void => {
    // Without a secure connection there is no clipboard.
    const written = Promise.resolve(navigator.clipboard).then((clipboard) => clipboard.writeText(text));
    written.then(
      () => setStatus('Copied'),
      () => setStatus('Not permitted'),
    );
  };
  return [status, copy];
}
