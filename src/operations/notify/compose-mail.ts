import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { shownDays, shownTime } from '../../contract/time.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import type { Waiting } from './notify-state.ts';
import type { Mail } from './send-mail.ts';

/** Longer subjects are cut by most programs. */
const SUBJECT_CHARACTERS_MAX = 150;
/** Content id of the picture of a brief. */
const PICTURE = 'visibility@sightline';
const GREY = '#5b6675';
const COLOURS: Readonly<Record<Brief['findings'][number]['tone'], string>> = {
  good: '#0a7a4b',
  bad: '#b3261e',
  'to do': '#4c5866',
};

/** Writes an e-mail about an event. A brief has a picture, and its findings as a list, each with a link to its data page. */
export function mailOf(
  { link }: NotifyTarget,
  workspace: string,
  { event, createdAt, text, data }: Waiting,
  picture: Buffer | null,
): Mail {
  const footer = `sightline, workspace ${workspace}, ${shownTime(createdAt)}`;
  const brief = event === 'brief' ? (data as unknown as Brief) : null;
  const title = brief === null ? text : `${brief.brand}: ${brief.headline}`;
  const findings = brief?.findings ?? [];
  const pages = link === null ? null : `${link}/${brief === null ? '' : `?brand=${encodeURIComponent(brief.brandId)}`}`;
  // What the numbers are about.
  const basis =
    brief === null
      ? []
      : [
          `${shownDays(brief.from, brief.to)}, compared with ${shownDays(brief.beforeFrom, brief.beforeTo)}; ${brief.responses} responses`,
        ];
  const lines = [
    title,
    ...basis,
    ...findings.map(({ size, sentence, page }) => `- ${size}: ${sentence}${link === null ? '' : ` ${link}${page}`}`),
    ...(pages === null ? [] : [pages]),
    footer,
  ];
  return {
    subject:
      title.length <= SUBJECT_CHARACTERS_MAX ? title : `${title.slice(0, SUBJECT_CHARACTERS_MAX - 1).toWellFormed()}…`,
    text: `${lines.join('\n\n')}\n`,
    html: [
      '<!doctype html><html lang="en"><body style="font-family: system-ui, sans-serif; color: #1c2430; max-width: 40em">',
      `<p dir="auto" style="font-size: 18px; font-weight: 600">${escapeHtml(title)}</p>`,
      ...basis.map((line) => `<p style="color: ${GREY}">${escapeHtml(line)}</p>`),
      ...(picture === null
        ? []
        : [`<p><img src="cid:${PICTURE}" alt="Visibility over time" style="max-width: 100%"></p>`]),
      ...(findings.length === 0
        ? []
        : [`<ul style="padding: 0; list-style: none">${findings.map((one) => itemOf(one, link)).join('')}</ul>`]),
      ...(pages === null ? [] : [`<p><a href="${escapeHtml(pages)}">Open the data pages</a></p>`]),
      `<p style="color: ${GREY}; font-size: 13px">${escapeHtml(footer)}</p>`,
      '</body></html>',
    ].join('\n'),
    attachments: picture === null ? [] : [{ filename: 'visibility.png', cid: PICTURE, content: picture }],
  };
}

function itemOf({ tone, size, sentence, detail, page }: Brief['findings'][number], link: string | null): string {
  const said =
    link === null
      ? escapeHtml(sentence)
      : `<a href="${escapeHtml(`${link}${page}`)}" style="color: inherit">${escapeHtml(sentence)}</a>`;
  const more = detail === null ? '' : `<br><span style="color: ${GREY}">${escapeHtml(detail)}</span>`;
  return `<li dir="auto" style="margin: 0 0 12px"><strong style="color: ${COLOURS[tone]}">${escapeHtml(size)}</strong> ${said}${more}</li>`;
}

function escapeHtml(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => names[character] as string);
}
