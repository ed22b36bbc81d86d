import type { JSX } from 'preact';
import type { ExplainedChange } from '../../../../metrics/explain/explained-change.ts';
import { Evidence } from '../../components/evidence.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHead, WhenLoaded } from '../../components/parts.tsx';
import { ViewTabs } from '../../components/tabs.tsx';
import { useResource } from '../../state/data.tsx';
import { Link, useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { MEASURES, type Measure, measureOf } from '../../state/shown-measures.ts';
import { Effects } from './effects.tsx';

const VIEWS = MEASURES.map(({ name, title }) => ({ id: name, label: title }));

/** Why a measure changed: a verdict, the effects that add up to the change, and causes with responses as evidence. */
export default function Explain(): JSX.Element {
  const { params } = useScope();
  const [name] = useSearchParam(
    'view',
    VIEWS.map(({ id }) => id),
  );
  const { compare_to: comparison, ...scope } = params ?? {};
  // A change has two periods.
  const comparedTo = comparison === 'year' ? 'year' : 'previous';
  const loaded = useResource<ExplainedChange>(
    params === null ? null : '/data/explain',
    params === null ? {} : { ...scope, compare_to: comparedTo, metric: name },
  );
  return (
    <>
      <PageHead title="Explain">
        <FilterBar />
      </PageHead>
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
  const { linkTo } = useScope();
  const { causes, dimensions, associations, associationsWithinChance: others } = explanation;
  return (
    <>
      <Verdict explanation={explanation} measure={measure} />
      {causes.length > 0 && (
        <section class="card causes" aria-label="Causes">
          <header class="panel-head">
            <h2>Causes, strongest first</h2>
          </header>
          <ol class="rows">
            {causes.map(({ rank, sentence, evidence }) => (
              <li key={rank}>
                <span dir="auto">{sentence}</span>
                <Evidence ids={evidence} />
              </li>
            ))}
          </ol>
        </section>
      )}
      <div class="pair">
        {dimensions
          .filter(({ members }) => members.length > 1)
          .map((dimension) => (
            <Effects key={dimension.dimension} dimension={dimension} measure={measure} />
          ))}
      </div>
      {associations.length > 0 && (
        <section class="card causes" aria-label="What changed with it">
          <header class="panel-head">
            <h2>What changed with it</h2>
            <p>associations, not causes</p>
          </header>
          <ul class="rows">
            {associations.map(({ kind, id, sentence, evidence }) => (
              <li key={`${kind} ${id}`}>
                <span dir="auto">{sentence}</span>
                <Evidence ids={evidence} />
              </li>
            ))}
          </ul>
          {others > 0 && <p class="quiet">{others} other competitors and domains changed within chance.</p>}
        </section>
      )}
      <p>
        <Link to={linkTo('/opportunities')}>What to do</Link>
      </p>
    </>
  );
}

function Verdict({ explanation, measure: { unit, title } }: ContentsProps): JSX.Element {
  const { format } = useScope();
  const { summary, total, from, to, beforeFrom, beforeTo } = explanation;
  const { nBefore, nAfter, change, lower, upper } = total;
  const count = (n: number): string => format.value(n, 'count');
  return (
    <section class="card" aria-label={`Change of ${title}`}>
      <p class="headline" dir="auto">
        {summary}
      </p>
      <p class="quiet">
        {format.days(from, to)}, compared with {format.days(beforeFrom, beforeTo)} · {count(nBefore)} responses before,{' '}
        {count(nAfter)} after
        {change !== null && lower !== null && upper !== null && (
          <>
            {' '}
            · change {format.difference(change, unit, false)} (95 % {format.changes(lower, upper, unit)})
          </>
        )}
      </p>
    </section>
  );
}
