import type { JSX } from 'preact';
import type { ReplicaReport, ShownPoint } from '../../../../read/replica-report.ts';
import { Marked, PlainTable } from '../../components/marks.tsx';
import { grouped, plural } from '../../state/amounts.ts';

/** The state of all points in one line. */
export function pointsLine({ points }: ReplicaReport): string {
  if (points.length === 0) return 'not calibrated yet';
  const count = (state: string): number => points.filter((point) => point.state === state).length;
  const [open, wrong] = [count('undetermined'), count('contradicted')];
  const known = points.length - open - wrong;
  return `${known} of ${plural(points.length, 'point')} known, ${open} undetermined, ${wrong} contradicted`;
}

/** How upstream computes and writes its responses, as far as they show it. Points that need attention come first. */
export function PointList({ replica: { points } }: { readonly replica: ReplicaReport }): JSX.Element {
  const isKnown = ({ state }: ShownPoint): boolean => state === 'determined' || state === 'configured';
  const known = points.filter(isKnown);
  const others = points.filter((point) => !isKnown(point));
  if (points.length === 0) return <p class="quiet">The first calibration follows the first sync.</p>;
  return (
    <>
      <p class="quiet">
        What the API’s specification leaves open, and what its responses show. sightline calibration has the candidates.
      </p>
      {others.length > 0 && <Points caption="Points that the API’s responses leave open" points={others} />}
      <details>
        <summary>{plural(known.length, 'known point')}</summary>
        <Points caption="Known points" points={known} />
      </details>
    </>
  );
}

function Points({ caption, points }: { readonly caption: string; readonly points: readonly ShownPoint[] }) {
  return (
    <PlainTable
      caption={caption}
      columns={['Point', 'Value in use', 'State', '#Evidence']}
      rows={points.map(({ name, about, text, state, compared, agreed }) => [
        <span key="about" title={name}>
          {about}
        </span>,
        text,
        <Marked key="state" level={state === 'contradicted' ? 'attention' : 'good'}>
          {state}
        </Marked>,
        compared === 0 ? 'none' : `${grouped(agreed)} of ${grouped(compared)}`,
      ])}
    />
  );
}
