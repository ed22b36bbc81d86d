import { z } from 'zod';
import { children, json, text, uuid } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';

export const article = defineResource({
  name: 'article',
  position: 190,
  about: 'One article with its text and sources.',
  scope: 'brand',
  path: '/brands/{brandId}/articles/{articleId}',
  paging: 'single',
  change: { kind: 'detail', of: 'articles', parameter: 'articleId' },
  query: {},
  tables: [
    {
      name: 'articles',
      about: 'Fields of an article that the list does not contain.',
      at: 'body',
      key: ['id'],
      fields: {
        id: uuid('Article id.'),
        metaDescription: text('Meta description.'),
        primaryKeyword: text('Primary keyword.'),
        markdown: text('The text as Markdown.'),
        html: text('The text as sanitized HTML.'),
        sources: children('Sources of articles.', {
          table: 'article_sources',
          repeat: [],
          fields: {
            url: text('URL of the source.'),
            title: text('Title of the source.'),
            fact: text('Fact taken from the source.'),
          },
        }),
        referenceUrls: json('URLs given as references.', z.array(z.string().nullable())),
        jsonLd: json('Structured data for the page: JSON-LD objects.', z.array(z.unknown())),
      },
    },
  ],
  tool: 'get_article',
});
