import {
  Bell,
  ChartColumn,
  ChevronDown,
  CodeXml,
  Download,
  Ellipsis,
  FileText,
  Folder,
  GitCompare,
  House,
  Image,
  Lightbulb,
  Link,
  Menu,
  MessageSquare,
  Newspaper,
  Search,
  Share2,
  SlidersHorizontal,
  Table2,
  TrendingUp,
  Users,
} from 'lucide';
import { h, type JSX } from 'preact';

const ICONS = {
  alerts: Bell,
  prompts: MessageSquare,
  responses: FileText,
  competitors: Users,
  sources: Link,
  topics: Folder,
  traffic: TrendingUp,
  content: Newspaper,
  compare: GitCompare,
  explain: Search,
  opportunities: Lightbulb,
  sql: CodeXml,
  reports: ChartColumn,
  overview: House,
  more: Menu,
  down: ChevronDown,
  dots: Ellipsis,
  filters: SlidersHorizontal,
  share: Share2,
  download: Download,
  picture: Image,
  table: Table2,
};

export type IconName = keyof typeof ICONS;

/** An icon beside a text. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <span class="icon" aria-hidden="true">
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round">
        {ICONS[name].map(([shape, attributes]) => h(shape, attributes))}
      </svg>
    </span>
  );
}
