import type { JSX } from 'preact';
import type { Opportunity } from '../../../../metrics/explain/opportunity.ts';
import { promptEnd } from '../../../../metrics/explain/sentences.ts';
import { EmptyState, Tag, WhenLoaded } from '../../components/parts.tsx';
import { type Loaded, useResource } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { type Scope, useScope } from '../../state/scope.tsx';

/** Opportunities that are shown; the page has all. */
const SHOWN_MAX = 4;

/** What each kind of opportunity is about, its page, and the parameter that selects the opportunity there. */
const KINDS: Readonly<
  Record<Opportunity['kind'], readonly [tag: string, (id: string) => readonly [string, Record<string, string>?]]>
> = {
  source_gap: ['gap', (id) => ['/sources', { domain: id }]],
  competitor_wins: ['prompt', (id) => [`/prompts/${id}`]],
  forum_thread: ['forum', () => ['/content', { view: 'forum' }]],
  page_cited_once: ['page', () => ['/sources', { view: 'pages' }]],
};

/** Returns the path of the page of an opportunity. */
export function opportunityPath({ kind, id }: Pick<Opportunity, 'kind' | 'id'>, { linkTo }: Scope): string {
  const [path, more] = KINDS[kind][1](id);
  return linkTo(path, {}, more);
}

/** Returns the sentence of an opportunity for a place beside its name. */
export function withoutPrompt({ kind, name, sentence }: Pick<Opportunity, 'kind' | 'name' | 'sentence'>): string {
  return kind === 'competitor_wins' ? sentence.replace(promptEnd(name), '.') : sentence;
}

/** Returns the opportunities of the brand and days, the open and greatest first. Other filters do not apply. */
export function useOpportunities(limit: number): Loaded<{ readonly opportunities: readonly Opportunity[] }> {
  const { brand, range } = useScope();
  const params = brand && range && { brand: brand.id, ...range, limit };
  return useResource(params && '/data/opportunities', params ?? {}, 'last');
}

/** The greatest open opportunities, each with a link. */
export function WhatToDo(): JSX.Element {
  const scope = useScope();
  const loaded = useOpportunities(SHOWN_MAX);
  return (
    <section class="card" aria-label="What to do">
      <header class="panel-head">
        <h2>
          <Link to={scope.linkTo('/opportunities')}>What to do</Link>
        </h2>
      </header>
      <WhenLoaded of={loaded}>
        {({ opportunities }) => {
          const open = opportunities.filter(({ mark }) => mark === null);
          if (open.length === 0) return <EmptyState>No open opportunities in these days.</EmptyState>;
          return (
            <ol class="rows tasks">
              {open.map((one) => (
                <li key={`${one.kind} ${one.id}`}>
                  <div>
                    <Link to={opportunityPath(one, scope)} dir="auto" class="clamped">
                      {one.name}
                    </Link>
                    <p class="quiet clamped" dir="auto">
                      {withoutPrompt(one)}
                    </p>
                  </div>
                  <Tag text={KINDS[one.kind][0]} />
                </li>
              ))}
            </ol>
          );
        }}
      </WhenLoaded>
    </section>
  );
}
