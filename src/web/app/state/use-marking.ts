import { useState } from 'preact/hooks';
import { asApiError, useApi, useMe } from './data.tsx';
import { useScope } from './scope.tsx';

export interface Marking {
  /** Stores a mark; null removes it. */
  set(value: string | null): void;
  /** Message of the error of the last mark; empty without an error. */
  readonly failure: string;
}

/** Returns how to mark an item of the brand; null if the reader may not write marks. */
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
