import { integer, label, text, timestamp, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const articles = defineResource({
  name: 'articles',
  position: 180,
  about: 'Articles that the service wrote.',
  scope: 'brand',
  path: '/brands/{brandId}/articles',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  order: ['-createdAt'],
  tables: [
    {
      name: 'articles',
      about: 'Articles that the service wrote, with their text.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Article id.'),
        promptId: uuid('The prompt for which the article was written.'),
        status: label('State of the article.'),
        type: label('Type.'),
        quality: label('Quality.'),
        format: label('Format.'),
        topic: text('Topic.'),
        title: text('Title.'),
        slug: text('Slug.'),
        wordCount: integer('Number of words.'),
        creditsCharged: integer('Writing credits charged for the article.'),
        createdAt: timestamp('When the article was ordered.'),
        completedAt: timestamp('When the article was finished; null until then.'),
      },
    },
  ],
  tool: 'list_articles',
});
