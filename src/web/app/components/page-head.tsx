import type { ComponentChildren, JSX } from 'preact';
import { useScope } from '../state/scope.tsx';
import { FilterBar, type FilterBarProps } from './filter-bar.tsx';

interface PageHeadProps {
  readonly title: ComponentChildren;
  /** One sentence beside the title; the default are the days of the page's numbers. */
  readonly about?: ComponentChildren;
  /** The filters of the page; without them it has no range either. */
  readonly filters?: FilterBarProps;
}

/** The top row of a page. */
export function PageHead({ title, about, filters }: PageHeadProps): JSX.Element {
  const { range, format } = useScope();
  const beside = about ?? (filters === undefined ? null : range && format.days(range.from, range.to));
  return (
    <header class="page-head">
      <div class="page-title">
        <h1 dir="auto">{title}</h1>
        {beside !== null && (
          <p class="quiet" dir="auto">
            {beside}
          </p>
        )}
      </div>
      {filters !== undefined && <FilterBar {...filters} />}
    </header>
  );
}
