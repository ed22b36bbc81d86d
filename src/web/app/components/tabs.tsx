import type { JSX } from 'preact';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';

export interface TabsProps {
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly label: string; readonly to: string }[];
  readonly current: string;
}

/** Links between the parts of a page. */
export function Tabs({ label, tabs, current }: TabsProps): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, label: name, to }) => (
        <Link key={id} to={to} isCurrent={id === current}>
          {name}
        </Link>
      ))}
    </nav>
  );
}

export interface ViewTabsProps {
  readonly label: string;
  /** Path of the page. */
  readonly path: string;
  readonly views: readonly { readonly id: string; readonly label: string }[];
  readonly current: string;
}

/** Links between the views of a page, which are the parameter `view` of its address. */
export function ViewTabs({ label, path, views, current }: ViewTabsProps): JSX.Element {
  const { linkTo } = useScope();
  const tabs = views.map(({ id, label: name }) => ({ id, label: name, to: linkTo(path, {}, { view: id }) }));
  return <Tabs label={label} tabs={tabs} current={current} />;
}
