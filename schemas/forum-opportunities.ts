import { integer, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { choiceParameter, cursorParameter, limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const forumOpportunities = defineResource({
  name: 'forum_opportunities',
  position: 200,
  about: 'Forum threads that engines cite or that the brand could join.',
  scope: 'brand',
  path: '/brands/{brandId}/forum/opportunities',
  paging: 'cursor',
  change: { kind: 'walk' },
  query: {
    type: choiceParameter('Threads that engines cite (ai) or threads to join (outreach).', ['ai', 'outreach']),
    status: choiceParameter('Only threads in this state.', ['new', 'saved', 'dismissed', 'drafted', 'posted']),
    limit: limitParameter(100, 25),
    cursor: cursorParameter(),
  },
  order: ['-createdAt'],
  // Threads can be much older than the service that found them.
  earliest: '1990-01-01',
  tables: [
    {
      name: 'forum_opportunities',
      about: 'Forum threads that engines cite or that the brand could join.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Opportunity id.'),
        type: label('`ai`: engines cite the thread; `outreach`: the brand could join it.'),
        status: label('State, set in the app.'),
        subforum: text('Name of the community.'),
        title: text('Title of the thread.'),
        url: text('URL of the thread.'),
        upvotes: integer('Upvotes.'),
        comments: integer('Comments.'),
        aiContentPolicy: label('Community rule on AI-written comments; null until it is read.'),
        promotionPolicy: label("Community rule on mentioning one's own product; null until it is read."),
        postedAt: timestamp('When the thread was posted.'),
        citedAt: timestamp('When an engine cited the thread.'),
        createdAt: timestamp('When the service found the thread.'),
      },
    },
  ],
  tool: 'list_forum_opportunities',
});
