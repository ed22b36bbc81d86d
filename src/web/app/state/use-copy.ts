import { useEffect, useState } from 'preact/hooks';

/** How long a copied text is reported, in milliseconds. */
const REPORTED_MS = 2_000;

/** Returns a function that copies a text, and the result of the last copy, which is an empty text after 2 s. */
export function useCopy(): readonly [status: string, copy: (text: string) => void] {
  const [status, setStatus] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setStatus(''), REPORTED_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const copy = (text: string): void => {
    // `navigator.clipboard` is undefined without HTTPS, except on localhost.
    const written = Promise.resolve(navigator.clipboard).then((clipboard) => clipboard.writeText(text));
    written.then(
      () => setStatus('Copied'),
      () => setStatus('Not permitted'),
    );
  };
  return [status, copy];
}
