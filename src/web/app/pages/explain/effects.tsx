import type { JSX } from 'preact';
import type { ExplainedChange } from '../../../../metrics/explain/explained-change.ts';
import { Mark } from '../../components/measured.tsx';
import { useScope } from '../../state/scope.tsx';
import type { Measure } from '../../state/shown-measures.ts';

/** Members of a dimension that are shown, those with the greatest effects. */
const SHOWN_MAX = 6;
/** Smaller effects on a share are shown with two decimals of a point. */
const FINE_BELOW = 0.005;

type ExplainedDimension = ExplainedChange['dimensions'][number];

interface EffectsProps {
  readonly dimension: ExplainedDimension;
  readonly measure: Measure;
}

/** The members of a dimension whose effects add up to the change, the greatest first, each with a bar. */
export function Effects({ dimension: { dimension, members }, measure }: EffectsProps): JSX.Element {
  const { format } = useScope();
  const ranked = members.toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  const shown = ranked.slice(0, SHOWN_MAX);
  const greatest = Math.max(...shown.map(({ effect }) => Math.abs(effect)), Number.MIN_VALUE);
  const isFine = measure.unit === 'ratio' && greatest < FINE_BELOW;
  return (
    <section class="card" aria-label={`By ${dimension}`}>
      <header class="panel-head">
        <h2>By {dimension}</h2>
        <p>
          {measure.unit === 'ratio' ? 'effects in points' : 'effects'} add up to the change; pale bars are within chance
        </p>
      </header>
      <ul class="rows effects">
        {shown.map((member) => (
          <li key={member.id ?? member.name} data-beyond={member.verdict === 'significant'}>
            <MemberText member={member} measure={measure} />
            <EffectBar share={member.effect / greatest} isGood={member.effect > 0 === measure.isHigherBetter} />
            <b class="number">
              {isFine
                ? format.difference(100 * member.effect, 'number')
                : format.difference(member.effect, measure.unit)}
            </b>
          </li>
        ))}
      </ul>
      {ranked.length > SHOWN_MAX && <p class="quiet">{ranked.length - SHOWN_MAX} more have smaller effects.</p>}
    </section>
  );
}

function MemberText({
  member,
  measure,
}: {
  readonly member: ExplainedDimension['members'][number];
  readonly measure: Measure;
}): JSX.Element {
  const { format } = useScope();
  const { name, before, after, change, verdict } = member;
  return (
    <div>
      <span class="clamped" dir="auto">
        {name}
      </span>
      <span class="beside">
        {before === null ? 'no data before' : format.value(before, measure.unit)}
        {after === null
          ? ', no data now'
          : `${before === null ? ', ' : ' to '}${format.value(after, measure.unit)}`}{' '}
        {change !== null && (
          <Mark
            change={{ change, isSignificant: verdict === 'not tested' ? null : verdict === 'significant' }}
            unit={measure.unit}
            isHigherBetter={measure.isHigherBetter}
          />
        )}
      </span>
    </div>
  );
}

function EffectBar({ share, isGood }: { readonly share: number; readonly isGood: boolean }): JSX.Element {
  const width = `${Math.abs(share) * 50}%`;
  const style = share < 0 ? { right: '50%', width } : { left: '50%', width };
  return (
    <span class="effect-bar" aria-hidden="true">
      <i style={style} data-tone={isGood ? 'good' : 'bad'} />
    </span>
  );
}
