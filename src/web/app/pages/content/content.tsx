import type { JSX } from 'preact';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { useRoute, useSearchParam } from '../../state/router.tsx';
import { ArticleDetail } from './article-detail.tsx';
import { ACTIONS, ARTICLES, THREADS } from './content-tables.tsx';
import { CreditsOverTime } from './credits-over-time.tsx';
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
  const [view] = useSearchParam('view', VIEWS);
  const article = search.get('article');
  return (
    <>
      <PageHead title="Content" filters={{ without: ['comparison', 'engine', 'topic', 'tag', 'branded'] }} />
      <ViewTabs label="Kinds of content" path="/content" views={VIEWS} current={view} />
      <div class="grid">
        {article !== null && view === 'articles' ? (
          <ArticleDetail id={article} />
        ) : (
          <>
            <StatesOverTime list={view} />
            {view === 'articles' && <DeclaredTable {...ARTICLES} />}
            {view === 'articles' && <CreditsOverTime />}
            {view === 'actions' && <DeclaredTable {...ACTIONS} />}
            {view === 'forum' && <DeclaredTable {...THREADS} />}
          </>
        )}
      </div>
    </>
  );
}
