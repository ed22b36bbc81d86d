import { icons } from '@iconify-json/lucide/icons.json';
import type { JSX } from 'preact';

/** Names in the set; the build includes only those in this file. */
const ICONS = {
  alerts: 'bell',
  prompts: 'message-square',
  responses: 'file-text',
  competitors: 'users',
  sources: 'link',
  topics: 'folder',
  traffic: 'trending-up',
  content: 'newspaper',
  compare: 'git-compare',
  explain: 'search',
  opportunities: 'lightbulb',
  sql: 'code-xml',
  reports: 'chart-column',
  overview: 'house',
  more: 'menu',
  down: 'chevron-down',
  dots: 'ellipsis',
  filters: 'sliders-horizontal',
  share: 'share-2',
  download: 'download',
  picture: 'image',
  table: 'table-2',
} as const;

export type IconName = keyof typeof ICONS;

/** An icon beside a text. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <span class="icon" aria-hidden="true">
      <svg viewBox="0 0 24 24" dangerouslySetInnerHTML={{ __html: icons[ICONS[name]].body }} />
    </span>
  );
}
