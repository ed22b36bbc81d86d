import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { VersionList } from '../../components/version-list.tsx';
import { useQuery } from '../../state/data.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';

const LABELS: Readonly<Record<string, string>> = {
  prompt: 'Prompt',
  engine: 'Engine',
  created_at: 'Time',
  brand_mentioned: 'Brand',
  brand_position: 'Position',
  brand_sentiment: 'Sentiment',
  competitors: 'Competitors',
  citations: 'Cited pages',
  other: 'Fields that the API does not document',
};

/** What changed about a response, and when. */
export function ResponseVersions({ id }: { readonly id: string }): JSX.Element {
  const data = useQuery('response_versions', { id });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  return (
    <Frame
      title="Versions"
      about="Versions of the response as syncs found them, newest first. The API reports only the current one."
      data={data}
      empty="No version is stored."
    >
      <VersionList rows={rows} labels={LABELS} shown={shown} first={facts} afterDeletion="It counts in no measure." />
    </Frame>
  );
}

function facts(row: Row): string {
  const brand = [shown('brand_mentioned', row)];
  if (row['brand_mentioned'] === true)
    brand.push(`position ${shown('brand_position', row)}`, `sentiment ${shown('brand_sentiment', row)}`);
  return `${brand.join(', ')}; competitors: ${shown('competitors', row)}; ${itemsOf(row['citations']).length} cited pages`;
}

function shown(name: string, row: Row): string {
  const value = row[name];
  if (name === 'brand_mentioned') return value === true ? 'mentioned' : value === false ? 'not mentioned' : 'unknown';
  if (name === 'competitors') return itemsOf(value).map(entityText).join('; ') || 'none';
  if (name === 'citations') {
    return (
      itemsOf(value)
        .map(({ url }) => textOf(url))
        .join(' ') || 'none'
    );
  }
  if (name === 'other') return value === null ? 'none' : JSON.stringify(value);
  return textOf(value) || 'none';
}

function entityText({ name, position, sentiment }: Row): string {
  return [textOf(name), textOf(position), textOf(sentiment)].filter((part) => part !== '').join(', ');
}

function itemsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? (value as readonly Row[]) : [];
}
