import type { ComponentChildren, JSX } from 'preact';
import { useScope } from '../state/scope.tsx';
import { FilterBar, type FilterBarProps } from './filter-bar.tsx';

interface PageHeadProps {
  readonly title: ComponentChildren;
  /** Text beside the title. Default: the days of the range if the page has filters, otherwise none. */
  readonly about?: ComponentChildren;
  /** Properties of the filter bar; undefined for a page without filters. */
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
