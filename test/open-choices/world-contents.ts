import type { Random } from './random.ts';
import type { Brand, Competitor, Item, Prompt, VisitDay, Visits, WorldContext } from './world.ts';

const DAY_MS = 86_400_000;
export const SOURCES = ['assistant-a', 'assistant-b', 'assistant-c', 'assistant-d', 'assistant-e', 'other-ai'] as const;
export const ALERT_TYPES = ['visibility_drop', 'competitor_overtake', 'new_rival_source'] as const;
export const THREAD_TYPES = ['ai', 'outreach'] as const;
export const THREAD_STATUSES = ['new', 'saved', 'dismissed', 'drafted', 'posted'] as const;

interface ContentParts {
  readonly firstDay: number;
  readonly isConnected: boolean;
  readonly prompts: readonly Prompt[];
  readonly competitors: readonly Competitor[];
}

type Contents = Pick<Brand, 'isConnected' | 'visits' | 'alerts' | 'threads' | 'articles'>;

/** Creates visits, alerts, forum threads and articles of a brand. */
export function createContents(context: WorldContext, parts: ContentParts): Contents {
  return {
    isConnected: parts.isConnected,
    visits: parts.isConnected ? createVisits(context, parts.firstDay) : [],
    alerts: createAlerts(context, parts),
    threads: createThreads(context, parts),
    articles: createArticles(context, parts),
  };
}

function createVisits({ random, nowMs }: WorldContext, firstDay: number): VisitDay[] {
  const days: VisitDay[] = [];
  for (let at = firstDay; at <= nowMs; at += DAY_MS) {
    // Every sixth day has no visits from assistants.
    const sources = (at / DAY_MS) % 6 === 0 ? [] : random.sample(SOURCES, random.below(5));
    const bySource = new Map(sources.map((source) => [source as string, createVisitsOf(random)]));
    const visits = [...bySource.values()].reduce((sum, { sessions }) => sum + sessions, 0);
    days.push({
      date: new Date(at).toISOString().slice(0, 10),
      siteSessions: visits + 200 + random.below(900),
      bySource,
    });
  }
  return days;
}

function createVisitsOf(random: Random): Visits {
  const sessions = 1 + random.below(30);
  const keyEvents = random.below(4);
  return {
    sessions,
    engagedSessions: random.below(sessions + 1),
    newUsers: random.below(sessions + 1),
    keyEvents,
    cents: keyEvents === 0 ? 0 : random.pick([1250, 900, 4999, 10_000, 35]) * keyEvents,
  };
}

// Groups of three items have the same time.
function timesOf({ random, nowMs, precisionMs }: WorldContext, count: number): number[] {
  const span = 30 * DAY_MS;
  const times = Array.from({ length: count }, () => nowMs - random.below(span));
  return times.map(
    (at, place) =>
      Math.floor((place % 5 < 2 ? (times[place - (place % 5)] as number) : at) / precisionMs) * precisionMs,
  );
}

function createAlerts(context: WorldContext, { competitors }: ContentParts): Item[] {
  const { random } = context;
  return timesOf(context, 34).map((detectedAt) => {
    const type = random.pick(ALERT_TYPES);
    const previous = 10 + random.below(60);
    return {
      id: random.uuid(),
      type,
      headline: `Alert about ${type.replace('_', ' ')}`,
      detail: `It was ${previous} before.`,
      competitor: type === 'visibility_drop' ? null : random.pick(competitors).name,
      domain: type === 'new_rival_source' ? 'reviews.example' : null,
      previous: type === 'new_rival_source' ? null : previous,
      current: type === 'new_rival_source' ? null : previous - 7.5,
      detectedAt,
    };
  });
}

function createThreads(context: WorldContext, { firstDay }: ContentParts): Item[] {
  const { random, precisionMs } = context;
  const posted = timesOf(context, 31);
  return timesOf(context, 31).map((createdAt, place) => {
    const type = random.pick(THREAD_TYPES);
    return {
      id: random.uuid(),
      type,
      status: random.pick(THREAD_STATUSES),
      subforum: random.pick(['smallbusiness', 'bookkeeping']),
      title: `Which tool for ${random.pick(['invoices', 'payroll', 'taxes'])}?`,
      url: `https://forum.example/t/${place}`,
      upvotes: random.below(300),
      comments: random.below(80),
      aiContentPolicy: random.pick([null, 'banned', 'allowed']),
      promotionPolicy: random.pick([null, 'limited']),
      postedAt: Math.min(posted[place] as number, createdAt),
      citedAt: type === 'ai' ? Math.floor((firstDay + random.below(20) * DAY_MS) / precisionMs) * precisionMs : null,
      createdAt,
    };
  });
}

function createArticles(context: WorldContext, { prompts }: ContentParts): Item[] {
  const { random } = context;
  return timesOf(context, 9).map((createdAt, place) => {
    const isQueued = place % 4 === 0;
    const title = `How to choose a tool, part ${place}`;
    return {
      id: random.uuid(),
      promptId: random.pick(prompts.filter(({ state }) => state === 'active')).id,
      status: isQueued ? 'queued' : 'completed',
      type: 'guide',
      quality: random.pick(['standard', 'premium']),
      format: 'article',
      topic: 'choosing tools',
      title: isQueued ? null : title,
      slug: isQueued ? null : title.toLowerCase().replaceAll(/\W+/g, '-'),
      wordCount: isQueued ? 0 : 600 + random.below(900),
      creditsCharged: isQueued ? 0 : 1 + random.below(3),
      createdAt,
      completedAt: isQueued ? null : createdAt + 600_000,
    };
  });
}

/** Members of a single article that the list does not have. */
export function articleBody(article: Item): Record<string, unknown> {
  const isQueued = article['status'] === 'queued';
  const { title } = article;
  return {
    metaDescription: isQueued ? null : `About ${title}`,
    primaryKeyword: isQueued ? null : 'choose a tool',
    markdown: isQueued ? null : `# ${title}\n\nText.`,
    html: isQueued ? null : `<h1>${title}</h1><p>Text.</p>`,
    sources: isQueued ? [] : [{ url: 'https://docs.example/guide', title: 'Guide', fact: 'Tools differ.' }],
    referenceUrls: isQueued ? [] : ['https://reviews.example/guide'],
    jsonLd: isQueued ? [] : [{ '@type': 'Article', headline: title }],
  };
}
