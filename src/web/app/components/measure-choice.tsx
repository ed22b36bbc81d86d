import type { JSX } from 'preact';
import { useSearchParam } from '../state/router.tsx';
import { type Measure, measureOf } from '../state/shown-measures.ts';
import { Choice } from './filter-bar.tsx';

/** Returns the measure that the address names, and the field that changes it. */
export function useMeasureChoice(measures: readonly Measure[]): readonly [Measure, JSX.Element] {
  const options = measures.map(({ name, title }) => ({ id: name, label: title }));
  const [name, choose] = useSearchParam('measure', options);
  return [measureOf(name), <Choice key="measure" label="Measure" value={name} options={options} onChoose={choose} />];
}
