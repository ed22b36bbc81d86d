import alerts from 'lucide-static/icons/bell.svg?raw';
import reports from 'lucide-static/icons/chart-column.svg?raw';
import down from 'lucide-static/icons/chevron-down.svg?raw';
import sql from 'lucide-static/icons/code-xml.svg?raw';
import download from 'lucide-static/icons/download.svg?raw';
import dots from 'lucide-static/icons/ellipsis.svg?raw';
import responses from 'lucide-static/icons/file-text.svg?raw';
import topics from 'lucide-static/icons/folder.svg?raw';
import compare from 'lucide-static/icons/git-compare.svg?raw';
import overview from 'lucide-static/icons/house.svg?raw';
import picture from 'lucide-static/icons/image.svg?raw';
import opportunities from 'lucide-static/icons/lightbulb.svg?raw';
import sources from 'lucide-static/icons/link.svg?raw';
import more from 'lucide-static/icons/menu.svg?raw';
import prompts from 'lucide-static/icons/message-square.svg?raw';
import content from 'lucide-static/icons/newspaper.svg?raw';
import explain from 'lucide-static/icons/search.svg?raw';
import share from 'lucide-static/icons/share-2.svg?raw';
import filters from 'lucide-static/icons/sliders-horizontal.svg?raw';
import table from 'lucide-static/icons/table-2.svg?raw';
import traffic from 'lucide-static/icons/trending-up.svg?raw';
import competitors from 'lucide-static/icons/users.svg?raw';
import type { JSX } from 'preact';

const ICONS = {
  alerts,
  prompts,
  responses,
  competitors,
  sources,
  topics,
  traffic,
  content,
  compare,
  explain,
  opportunities,
  sql,
  reports,
  overview,
  more,
  down,
  dots,
  filters,
  share,
  download,
  picture,
  table,
};

export type IconName = keyof typeof ICONS;

/** An icon beside a text. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  // The drawings are files of a package.
  return <span class="icon" aria-hidden="true" dangerouslySetInnerHTML={{ __html: ICONS[name] }} />;
}
