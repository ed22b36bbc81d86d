import { useApi, useMe } from './data.tsx';
import { useScope } from './scope.tsx';

/** Returns the function that marks something of the brand; a value of null takes the mark back. Null if the reader may not mark anything. */
export function useMarking(kind: string, id: string): ((value: string | null) => void) | null {
  const api = useApi();
  const { brand } = useScope();
  const mayMark = useMe().data?.features.marks === true;
  if (!mayMark || brand === null) return null;
  return (value) => {
    const mark = { brandId: brand.id, kind, id, value };
    // If it fails, the page shows the state that the server has.
    void api.send('POST', '/data/marks', mark).finally(api.changed);
  };
}
