import type { JSX } from 'preact';
import type { ReportInput } from '../../report/report-types.ts';
import { idOf } from '../components/block-menu.tsx';
import { DeclaredTable } from '../components/data-table.tsx';
import { EmptyState, Facts } from '../components/parts.tsx';
import { EntitiesOverTime } from '../pages/competitors/entities-over-time.tsx';
import { TopDomains } from '../pages/overview/cited-sources.tsx';
import { EntityVisibility } from '../pages/overview/entity-visibility.tsx';
import { Morning } from '../pages/overview/morning.tsx';
import { OverviewTiles } from '../pages/overview/overview-tiles.tsx';
import { PromptMovers } from '../pages/overview/prompt-movers.tsx';
import { OwnerShare } from '../pages/sources/owner-share.tsx';
import { addDays, daysBetween } from '../state/calendar-days.ts';
import { StaticRoute, useRoute } from '../state/router.tsx';
import { ScopeProvider, useScope } from '../state/scope.tsx';
import { EngineVisibility, SentimentOverTime, SessionsOverTime } from './over-time.tsx';
import { ALERTS, ARTICLES, ENGINES, LOST, PLANS, ReportList, THREADS, TOP_GAPS, VOICES } from './report-lists.tsx';

const DAYS_PER_WEEK = 7;
/** Titles of the blocks to which the contents lead. */
const CONTENTS = [
  'Visibility over time',
  ...[VOICES, ENGINES].map(({ title }) => title),
  'Prompts that moved',
  LOST.title,
  'Most cited domains',
  ...[TOP_GAPS, ALERTS, PLANS, THREADS, ARTICLES].map(({ title }) => title),
  'Definitions',
];

/** The report of a brand: the blocks of the overview, and lists that are pages of their own in a browser. */
export function ReportPage({ input }: { readonly input: ReportInput }): JSX.Element {
  const { brand, range, format } = useScope();
  const firstDay = brand?.firstDay ?? null;
  const hasNumbers = range !== null && firstDay !== null;
  return (
    <main class="report">
      <header class="page-head">
        <h1 dir="auto">{brand?.name ?? input.brand}</h1>
        {hasNumbers && (
          <p class="quiet">
            {format.days(range.from, range.to)}, {comparisonOf(input.compareTo, range)}. Days are UTC.
          </p>
        )}
      </header>
      {hasNumbers ? (
        <Numbers input={input} firstDay={firstDay} to={range.to} />
      ) : (
        <NextStep prompts={brand?.prompts ?? 0} />
      )}
      <div class="grid">
        <ReportList {...ALERTS} />
        <ReportList {...PLANS} />
        <ReportList {...THREADS} />
        <ReportList {...ARTICLES} />
        <Definitions measures={input.measures} />
        <DataHealth health={input.health} />
      </div>
    </main>
  );
}

function comparisonOf(compareTo: ReportInput['compareTo'], { from, to }: { from: string; to: string }): string {
  if (compareTo === 'none') return 'without a comparison';
  if (compareTo === 'year') return 'compared with the same days one year earlier';
  return `compared with the ${daysBetween(from, to)} days before`;
}

interface NumbersProps {
  readonly input: ReportInput;
  readonly firstDay: string;
  readonly to: string;
}

function Numbers({ input, firstDay, to }: NumbersProps): JSX.Element {
  const weeks = completeWeeks(firstDay, to, input.weeks);
  return (
    <>
      <Morning />
      <Contents />
      <OverviewTiles />
      <p class="quiet report-note">
        Below each number are its 95 % interval and the number of responses or mentions behind it. ▲ and ▼ mark an
        improvement and a decline beyond chance, ≈ a change that chance may explain.
      </p>
      <div class="grid">
        <Within range={weeks}>
          <EntityVisibility />
          <EngineVisibility />
          <EntitiesOverTime measure="share_of_voice" />
        </Within>
        <DeclaredTable {...VOICES} />
        <DeclaredTable {...ENGINES} />
        <PromptMovers />
        <ReportList {...LOST} />
        <Within range={weeks}>
          <SentimentOverTime />
          <OwnerShare />
        </Within>
        <TopDomains />
        <DeclaredTable {...TOP_GAPS} />
        <Within range={weeks}>
          <SessionsOverTime />
        </Within>
      </div>
    </>
  );
}

// Links to the blocks, which are in this order below.
function Contents(): JSX.Element {
  return (
    <nav class="contents" aria-label="Contents">
      {CONTENTS.map((title) => (
        <a key={title} href={`#${idOf(title)}`}>
          {title}
        </a>
      ))}
    </nav>
  );
}

interface WithinProps {
  /** Null for the range of the report. */
  readonly range: { readonly from: string; readonly to: string } | null;
  readonly children: JSX.Element | readonly JSX.Element[];
}

/** Shows blocks for another range of days than that of the report. */
function Within({ range, children }: WithinProps): JSX.Element {
  const route = useRoute();
  if (range === null) return <>{children}</>;
  const search = new URLSearchParams(route.search);
  search.set('from', range.from);
  search.set('to', range.to);
  return (
    <StaticRoute route={{ ...route, search }}>
      <ScopeProvider>{children}</ScopeProvider>
    </StaticRoute>
  );
}

// The last weeks from Monday to Sunday that have responses from their first day. An incomplete week looks like a drop. Null if there
// is none.
function completeWeeks(firstDay: string, lastDay: string, weeks: number): { from: string; to: string } | null {
  const weekday = (day: string): number => (new Date(day).getUTCDay() + 6) % DAYS_PER_WEEK;
  const to = addDays(lastDay, -((weekday(lastDay) + 1) % DAYS_PER_WEEK));
  const firstMonday = addDays(firstDay, (DAYS_PER_WEEK - weekday(firstDay)) % DAYS_PER_WEEK);
  const earliest = addDays(to, 1 - weeks * DAYS_PER_WEEK);
  const [, from = to] = [firstMonday, earliest].sort();
  return from < to ? { from, to } : null;
}

function NextStep({ prompts }: { readonly prompts: number }): JSX.Element {
  return (
    <section class="panel" aria-label="Next step">
      <h2>Next step</h2>
      <EmptyState>
        {prompts === 0
          ? 'The brand has no prompts. Add prompts in the app, run `sightline sync` after it has collected responses, then `sightline report`.'
          : 'No responses are stored yet. The service collects them on a schedule: run `sightline sync` until `sightline status` shows responses, then `sightline report`.'}
      </EmptyState>
    </section>
  );
}

/** Definitions of the measures. */
function Definitions({ measures }: Pick<ReportInput, 'measures'>): JSX.Element {
  return (
    <section class="panel" id="definitions" aria-label="Definitions">
      <h2>Definitions</h2>
      <Facts
        facts={measures.map(({ name, label, about, formula }) => [
          label,
          <span key={name}>
            {about} <span class="quiet">= {formula}</span>
          </span>,
        ])}
      />
    </section>
  );
}

/** Freshness and completeness of the data. */
function DataHealth({ health }: Pick<ReportInput, 'health'>): JSX.Element {
  return (
    <section class="panel" aria-label="Health of the data">
      <h2>Health of the data</h2>
      <Facts facts={health} />
    </section>
  );
}
