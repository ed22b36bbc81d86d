import type { Conventions } from './conventions.ts';
import type { Doubts } from './findings.ts';
import { choiceText } from './point-words.ts';
import { doubtText } from './report-sentences.ts';

interface Note {
  readonly point: keyof Conventions;
  /** How upstream's number differs from that of the pages; null if it does not. */
  text(conventions: Conventions): string | null;
}

const wholes = { citations: null, responses: 'all responses', citing: 'the responses that cite a page' } as const;

/** Measures, and contents of tables, of which upstream may have another definition than the metrics layer. */
const notes: Readonly<Record<string, Note>> = {
  visibility: {
    point: 'countedResponses',
    text: ({ countedResponses: value }) =>
      value === 'all' ? null : `The API counts only ${choiceText('countedResponses', value)}`,
  },
  share_of_voice: {
    point: 'deletedCompetitors',
    text: ({ deletedCompetitors: value }) =>
      value === 'excluded' ? null : 'The API also counts mentions of competitors that are no longer tracked',
  },
  citations: {
    point: 'citationCount',
    text: ({ citationCount: value }) =>
      value === 'each' ? null : `In the API’s number ${choiceText('citationCount', value)}`,
  },
  citation_share: {
    point: 'domainShare',
    text: ({ domainShare }) => {
      const whole = wholes[domainShare.of];
      return whole === null ? null : `The API’s share is the responses that cite the domain, as a share of ${whole}`;
    },
  },
  page_title: {
    point: 'urlTitle',
    text: ({ urlTitle: value }) =>
      value === 'latest'
        ? null
        : `Pages have their latest title here, and the API shows ${choiceText('urlTitle', value)}`,
  },
};

/** Returns a sentence for each measure that upstream defines in another way, by measure. */
export function upstreamNotes(conventions: Conventions, doubts: Doubts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(notes).flatMap(([name, { point, text }]) => {
      const own = text(conventions);
      return own === null ? [] : [[name, `${own}${doubtText([point], doubts)}.`]];
    }),
  );
}
