import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { listOf, VersionList } from '../../components/version-list.tsx';
import { useQuery } from '../../state/data.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';

const LABELS: Readonly<Record<string, string>> = {
  text: 'Text',
  active: 'State',
  branded: 'Branded',
  funnel_stage: 'Funnel stage',
  topic: 'Topic',
  tags: 'Tags',
};

/** Changes of a prompt with their times: states, groups and text. */
export function PromptVersions({ id }: { readonly id: string }): JSX.Element {
  const data = useQuery('prompt_versions', { id });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  return (
    <Frame
      title="History of groups and state"
      about="Versions of the prompt as syncs found them, newest first. The API reports only the current one; earlier ones are known since the first sync."
      data={data}
      empty="No versions are stored: the API has not listed the prompt since the first sync."
    >
      <VersionList
        rows={rows}
        labels={LABELS}
        shown={shown}
        first={groups}
        afterDeletion="Its responses still count."
      />
    </Frame>
  );
}

function groups(row: Row): string {
  return `${shown('active', row)}, topic ${shown('topic', row)}, tags ${shown('tags', row)}`;
}

function shown(name: string, row: Row): string {
  const value = row[name];
  if (name === 'active') return value === false ? 'paused' : 'active';
  if (name === 'branded') return value === null ? 'unknown' : value === true ? 'yes' : 'no';
  if (name === 'tags') return listOf(value).join(', ') || 'none';
  return textOf(value) || 'none';
}
