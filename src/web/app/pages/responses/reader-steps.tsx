import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { isPageKey, TYPED } from '../../components/keys.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link, useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { readReader } from './reader-filters.ts';

interface ReaderStepsProps {
  /** The list with the filters of the address. */
  readonly list: string;
  /** Position of the shown response; null while it is loading. */
  readonly cursor: string | null;
}

/** Links to the list, and to the newer and older response of the filtered list; j and k or the arrow keys follow them. */
export function ReaderSteps({ list, cursor }: ReaderStepsProps): JSX.Element {
  const { navigate } = useRoute();
  const newer = useStep(cursor, 'newer');
  const older = useStep(cursor, 'older');
  // In the same step as the links, so that the keys work as soon as the links are shown.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const target = keyTarget(event, newer, older);
      if (target === null) return;
      event.preventDefault();
      navigate(target, { replace: true });
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [newer, older, navigate]);
  return (
    <nav class="row steps" aria-label="Responses of the list">
      <Link to={list}>All responses</Link>
      <span class="row">
        <Step to={newer} label="← Newer" keys="k" />
        <Step to={older} label="Older →" keys="j" />
      </span>
    </nav>
  );
}

function Step({
  to,
  label,
  keys,
}: {
  readonly to: string | null;
  readonly label: string;
  readonly keys: string;
}): JSX.Element {
  if (to === null) return <span class="quiet">{label}</span>;
  return (
    <Link to={to} class="button" title={`Key ${keys}`}>
      {label}
    </Link>
  );
}

function useStep(cursor: string | null, direction: 'newer' | 'older'): string | null {
  const { params, linkTo } = useScope();
  const { search } = useRoute();
  const reader = readReader(search);
  const { table, isLoading } = useQuery(
    'response_list',
    params === null || cursor === null
      ? null
      : { ...params, ...reader.params, compare_to: 'none', after: cursor, direction, limit: 1 },
  );
  const id = isLoading ? '' : textOf(toRecords(table)[0]?.['response_id']);
  return id === '' ? null : linkTo(`/responses/${id}`, {}, reader.link);
}

/** Elements that use the arrow keys. */
const WITH_ARROWS = `${TYPED}, [role="group"], .table-box, pre`;

// Returns null for other keys, with modifiers, and in elements that use the keys.
function keyTarget(event: KeyboardEvent, newer: string | null, older: string | null): string | null {
  const { key, shiftKey } = event;
  if (shiftKey || !isPageKey(event, key.startsWith('Arrow') ? WITH_ARROWS : TYPED)) return null;
  if (key === 'j' || key === 'ArrowRight') return older;
  if (key === 'k' || key === 'ArrowLeft') return newer;
  return null;
}
