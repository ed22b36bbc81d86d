import type { JSX } from 'preact';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';

/** Links to the responses that show something. */
export function Evidence({ ids }: { readonly ids: readonly string[] }): JSX.Element | null {
  const { linkTo } = useScope();
  if (ids.length === 0) return null;
  return (
    <p class="evidence">
      {ids.map((id, index) => (
        <Link key={id} to={linkTo(`/responses/${id}`)}>
          Response {index + 1}
        </Link>
      ))}
    </p>
  );
}
