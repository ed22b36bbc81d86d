import type { JSX } from 'preact';
import type { FilterName } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { WhenLoaded } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { useRoute, useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { ComparedMeasures } from './compared-measures.tsx';
import { ComparedOverTime } from './compared-over-time.tsx';
import { SidePicker } from './side-picker.tsx';
import { sidesOf, kindsOf } from './sides.ts';

/** Two brands, engines, topics, tags or periods side by side, with the tests of their differences. */
export default function Compare(): JSX.Element {
  const scope = useScope();
  const { search } = useRoute();
  // Shared with the filters: without it the choices are not known yet.
  const filters = useQuery('filters', scope.brand && { brand: scope.brand.id });
  const kinds = kindsOf(scope);
  const [kind] = useSearchParam('of', kinds);
  const sides = sidesOf(scope, kind, search);
  const without: readonly FilterName[] = [
    'comparison',
    ...(kind === 'period' ? (['range'] as const) : kind === 'brand' ? (['topic', 'tag'] as const) : [kind]),
  ];
  return (
    <>
      <PageHead title="Compare" filters={{ without }} />
      <WhenLoaded of={{ ...filters, data: filters.table }}>
        {() =>
          sides !== null && (
            <>
              <SidePicker kinds={kinds} kind={kind} sides={sides} />
              <div class="grid">
                <ComparedMeasures kind={kind} sides={sides} />
                <ComparedOverTime sides={sides} />
              </div>
            </>
          )
        }
      </WhenLoaded>
    </>
  );
}
