import type { JSX } from 'preact';
import { Tabs } from '../../../components/tabs.tsx';
import { addressWith, useRoute } from '../../../state/router.tsx';
import { HistoryList, type HistoryListProps } from './history-list.tsx';
import type { PastQuery } from './query-history.ts';
import { QuestionList, type QuestionListProps } from './question-list.tsx';
import { SavedList, type SavedListProps } from './saved-list.tsx';
import { TableBrowser, type TableBrowserProps } from './table-browser.tsx';

const PANELS = [
  { id: 'questions', label: 'Questions' },
  { id: 'tables', label: 'Tables' },
  { id: 'saved', label: 'Saved' },
  { id: 'history', label: 'History' },
] as const;

export interface SidePanelProps
  extends TableBrowserProps, QuestionListProps, SavedListProps, Pick<HistoryListProps, 'onClear'> {
  readonly past: readonly PastQuery[];
}

/** Questions, tables, saved queries and history, beside the editor. */
export function SidePanel(props: SidePanelProps): JSX.Element {
  const route = useRoute();
  const shown = PANELS.find(({ id }) => id === route.search.get('panel')) ?? PANELS[0];
  const tabs = PANELS.map((panel) => ({
    ...panel,
    to: addressWith(route, { panel: panel.id === PANELS[0].id ? null : panel.id }),
  }));
  return (
    <aside class="panel sql-side" aria-label="Questions, tables, saved queries and history">
      <Tabs label="Parts of the side panel" tabs={tabs} current={shown.id} />
      <div class="sql-side-box" tabIndex={0} role="region" aria-label={shown.label}>
        {shown.id === 'questions' && <QuestionList onRun={props.onRun} onEdit={props.onEdit} />}
        {shown.id === 'tables' && <TableBrowser schema={props.schema} onInsert={props.onInsert} />}
        {shown.id === 'saved' && <SavedList saved={props.saved} onLoad={props.onLoad} onMoved={props.onMoved} />}
        {shown.id === 'history' && <HistoryList queries={props.past} onEdit={props.onEdit} onClear={props.onClear} />}
      </div>
    </aside>
  );
}
