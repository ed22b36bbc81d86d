import type { JSX } from 'preact';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/parts.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { useRoute } from '../../state/router.tsx';
import { ActionTable } from './action-table.tsx';
import { ArticleDetail } from './article-detail.tsx';
import { ArticleTable } from './article-table.tsx';
import { CreditsOverTime } from './credits-over-time.tsx';
import { ForumTable } from './forum-table.tsx';
import { StatesOverTime } from './states-over-time.tsx';
import '../../styles/content.css';

const VIEWS = [
  { id: 'articles', label: 'Articles' },
  { id: 'actions', label: 'Action plans' },
  { id: 'forum', label: 'Forum threads' },
] as const;

/** Articles, action plans and forum threads with the states that syncs recorded. */
export default function Content(): JSX.Element {
  const { search } = useRoute();
  const view = VIEWS.find(({ id }) => id === search.get('view'))?.id ?? 'articles';
  const article = search.get('article');
  return (
    <>
      <PageHead title="Content" about="The API reports only current states. Syncs record their history.">
        <FilterBar without={['comparison', 'engine', 'topic', 'tag', 'branded']} />
      </PageHead>
      <ViewTabs label="Kinds of content" path="/content" views={VIEWS} current={view} />
      <div class="grid">
        {article !== null && view === 'articles' ? (
          <ArticleDetail id={article} />
        ) : (
          <>
            <StatesOverTime list={view} />
            {view === 'articles' && <ArticleTable />}
            {view === 'articles' && <CreditsOverTime />}
            {view === 'actions' && <ActionTable />}
            {view === 'forum' && <ForumTable />}
          </>
        )}
      </div>
    </>
  );
}
