import type { ComponentChildren, JSX } from 'preact';
import type { ExplainedChange } from '../../../../metrics/explain/explained-change.ts';
import { Evidence } from '../../components/evidence.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { WhenLoaded } from '../../components/parts.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { useResource } from '../../state/data.tsx';
import { unbroken } from '../../state/format.ts';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { MEASURES, type Measure, measureOf } from '../../state/shown-measures.ts';
import { WhatToDo } from '../opportunities/what-to-do.tsx';
import { Effects } from './effects.tsx';

const VIEWS = MEASURES.map(({ name, title }) => ({ id: name, label: title }));

/** Why a measure changed: a verdict, the effects that add up to the change, and causes with responses as evidence. */
export default function Explain(): JSX.Element {
  const { params } = useScope();
  const [name] = useSearchParam('view', VIEWS);
  const { compare_to: comparison, ...scope } = params ?? {};
  // A change has two periods.
  const comparedTo = comparison === 'year' ? 'year' : 'previous';
  const asked = { ...scope, compare_to: comparedTo, metric: name };
  const loaded = useResource<ExplainedChange>(params && '/data/explain', asked);
  return (
    <>
      <PageHead title="Explain" filters={{}} />
      <ViewTabs label="Measures" path="/explain" views={VIEWS} current={name} />
      <WhenLoaded of={loaded}>{(data) => <Contents explanation={data} measure={measureOf(name)} />}</WhenLoaded>
    </>
  );
}

interface ContentsProps {
  readonly explanation: ExplainedChange;
  readonly measure: Measure;
}

function Contents({ explanation, measure }: ContentsProps): JSX.Element {
  const { causes, dimensions, associations, associationsWithinChance: others } = explanation;
  return (
    <>
      <Verdict explanation={explanation} measure={measure} />
      <Findings title="Causes, strongest first" findings={causes} />
      <div class="pair">
        {dimensions
          .filter(({ members }) => members.length > 1)
          .map((dimension) => (
            <Effects key={dimension.dimension} dimension={dimension} measure={measure} />
          ))}
      </div>
      <Findings title="What changed with it" hint="associations, not causes" findings={associations}>
        {others > 0 && <p class="quiet">{others} other competitors and domains changed within chance.</p>}
      </Findings>
      <WhatToDo />
    </>
  );
}

interface FindingsProps {
  readonly title: string;
  readonly hint?: string;
  readonly findings: readonly { readonly sentence: string; readonly evidence: readonly string[] }[];
  readonly children?: ComponentChildren;
}

/** Sentences with the responses that show them. */
function Findings({ title, hint, findings, children }: FindingsProps): JSX.Element | null {
  if (findings.length === 0) return null;
  return (
    <section class="card causes" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        {hint !== undefined && <p>{hint}</p>}
      </header>
      <ol class="rows">
        {findings.map(({ sentence, evidence }) => (
          <li key={sentence}>
            <span dir="auto">{unbroken(sentence)}</span>
            <Evidence ids={evidence} />
          </li>
        ))}
      </ol>
      {children}
    </section>
  );
}

function Verdict({ explanation, measure: { unit, title } }: ContentsProps): JSX.Element {
  const { format } = useScope();
  const { summary, from, to, beforeFrom, beforeTo } = explanation;
  const { change, lower, upper } = explanation.total;
  return (
    <section class="card" aria-label={`Change of ${title}`}>
      <p class="headline" dir="auto">
        {unbroken(summary)}
      </p>
      <p class="quiet">
        {format.days(from, to)}, compared with {format.days(beforeFrom, beforeTo)}
        {change !== null && lower !== null && upper !== null && (
          <>
            {' '}
            · change {format.difference(change, unit)} (95 % {format.changes(lower, upper, unit)})
          </>
        )}
      </p>
    </section>
  );
}
