import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { PageHead } from '../components/page-head.tsx';
import { EmptyState, Timestamp, WhenLoaded } from '../components/parts.tsx';
import { asApiError, useApi, useMe, useResource } from '../state/data.tsx';
import { unbroken } from '../state/format.ts';
import { type Brand, useScope } from '../state/scope.tsx';
import { useCopy } from '../state/use-copy.ts';

/** A written report of a brand; paths are below the base path. */
interface Report {
  readonly brandId: string | null;
  /** Its first sentence; may be empty. */
  readonly sentence: string;
  readonly writtenAt: string;
  readonly page: string;
  readonly charts: readonly string[];
}

/** The chart of a report that the list shows. */
const PICTURE = '/visibility-over-time.svg';

/** The newest report of each brand, to open, send or write again. */
export default function Reports(): JSX.Element {
  const { brandList } = useScope();
  const loaded = useResource<{ readonly reports: readonly Report[] }>('/data/reports');
  return (
    <>
      <PageHead title="Reports" about="One page per brand, to send or print. The job report writes it on a schedule." />
      <WhenLoaded of={loaded}>
        {({ reports }) => (
          <div class="pair">
            {brandList.map((brand) => (
              <ReportCard
                key={brand.id}
                brand={brand}
                report={reports.find(({ brandId }) => brandId === brand.id) ?? null}
              />
            ))}
          </div>
        )}
      </WhenLoaded>
    </>
  );
}

interface ReportCardProps {
  readonly brand: Brand;
  readonly report: Report | null;
}

function ReportCard({ brand: { id, name }, report }: ReportCardProps): JSX.Element {
  const api = useApi();
  const mayWrite = useMe().data?.features.writing === true;
  const [status, setStatus] = useState('');
  const [copied, copy] = useCopy();
  const write = (): void => {
    setStatus('Writing the report …');
    api.send('POST', '/data/reports', { brandId: id }).then(
      () => {
        setStatus('');
        api.changed();
      },
      (thrown: unknown) => setStatus(asApiError(thrown).message),
    );
  };
  const picture = report?.charts.find((path) => path.endsWith(PICTURE));
  const address = report === null ? '' : new URL(`${api.base}${report.page}`, window.location.href).href;
  const mail = new URLSearchParams({ subject: name, body: `${report?.sentence ?? ''}\n\n${address}` });
  return (
    <section class="card report-card" aria-label={name}>
      <h2 dir="auto">{name}</h2>
      {report === null ? (
        <EmptyState>No report yet.</EmptyState>
      ) : (
        <>
          <p class="headline" dir="auto">
            {unbroken(report.sentence)}
          </p>
          {picture !== undefined && <img src={`${api.base}${picture}`} alt={`Visibility of ${name} over time`} />}
          <p class="quiet">
            Written <Timestamp time={report.writtenAt} />
          </p>
        </>
      )}
      <div class="row">
        {report !== null && (
          <>
            <a class="button strong" href={address}>
              Open
            </a>
            <button type="button" onClick={() => copy(address)}>
              Copy link
            </button>
            <a class="button" href={`mailto:?${mail.toString().replaceAll('+', '%20')}`}>
              Send by mail
            </a>
          </>
        )}
        {mayWrite && (
          <button type="button" onClick={write}>
            {report === null ? 'Write the report' : 'Write again'}
          </button>
        )}
        <span class="quiet" role="status">
          {copied || status}
        </span>
      </div>
    </section>
  );
}
