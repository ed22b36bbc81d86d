import { useState } from 'preact/hooks';
import { asApiError, useApi, useMe } from './data.tsx';
import { useScope } from './scope.tsx';

/** A function that marks something, and why the last mark was not stored; empty if it was. */
export interface Marking {
  set(value: string | null): void;
  readonly failure: string;
}

/** Returns the function that marks something of the brand; null removes the mark. Returns null if the reader may not write marks. */
export function useMarking(kind: string, id: string): Marking | null {
  const api = useApi();
  const { brand } = useScope();
  const [failure, setFailure] = useState('');
  const mayMark = useMe().data?.features.writing === true;
  if (!mayMark || brand === null) return null;
  const set = (value: string | null): void => {
    void api.send('POST', '/data/marks', { brandId: brand.id, kind, id, value }).then(
      () => {
        setFailure('');
        api.changed();
      },
      (thrown: unknown) => setFailure(asApiError(thrown).message),
    );
  };
  return { set, failure };
}
