import { integer, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { choiceParameter, cursorParameter, limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const forumOpportunities = defineResource({
  name: 'forum_opportunities',
  about: 'Forum threads that engines cite, or where the brand could join in.',
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
  // Threads may be much older than the service that found them.
  earliest: '1990-01-01',
  tables: [
    {
      name: 'forum_opportunities',
      about: 'Forum threads that engines cite, or where the brand could join in.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Opportunity id.'),
        type: label('`ai`: engines cite the thread; `outreach`: the brand could join it.'),
        status: label('State, moved in the app.'),
        subforum: text('The community.'),
        title: text('Title of the thread.'),
        url: text('The thread.'),
        upvotes: integer('Upvotes.'),
        comments: integer('Comments.'),
        aiContentPolicy: label("What the community's rules say about AI-written comments; null until read."),
        promotionPolicy: label("What the rules say about mentioning one's own product; null until read."),
        postedAt: timestamp('When the thread was posted.'),
        citedAt: timestamp('When an engine cited it.'),
        createdAt: timestamp('When it was found.'),
      },
    },
  ],
  tool: 'list_forum_opportunities',
});
