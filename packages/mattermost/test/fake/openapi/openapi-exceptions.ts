// Known errors of the OpenAPI description, each with a reason.

export interface Exception {
  method: string;
  /** Path in the description. */
  template: string;
  what: 'path' | 'query' | 'body' | 'content type';
  /** A query parameter, body field or content type. */
  name: string;
}

const exceptions: (Omit<Exception, 'template' | 'name'> & { template: RegExp; names: RegExp; because: string })[] = [
  {
    method: 'ANY',
    template: /^\/oauth\//,
    what: 'path',
    names: /^/,
    because: 'the OAuth provider is outside of the API and is not described',
  },
  {
    method: 'POST',
    template: /\/posts$/,
    what: 'body',
    names: /^pending_post_id$/,
    because: 'the server keeps it for 30 seconds to recognise a repeated post; only the schema Post names it',
  },
  {
    method: 'PUT',
    template: /\/posts\/\{post_id\}(\/patch)?$/,
    what: 'body',
    names: /^props$/,
    because: 'described as a text, but the server takes the object that it also returns',
  },
  {
    method: 'GET',
    template: /\/channels\/\{channel_id\}\/posts$/,
    what: 'query',
    names: /^(skipFetchThreads|collapsedThreads|collapsedThreadsExtended)$/,
    because: 'read by the server like those of /posts/unread, where they are described',
  },
  {
    method: 'GET',
    template: /\/teams\/\{team_id\}\/threads$/,
    what: 'query',
    names: /^(before|after|unread)$/,
    because: 'the server pages by thread; the described page is ignored',
  },
  {
    method: 'GET',
    template: /\/config\/client$/,
    what: 'query',
    names: /^format$/,
    because: 'servers before 11 answer 501 without format=old',
  },
  {
    method: 'GET',
    template: /\/files\/\{file_id\}$/,
    what: 'query',
    names: /^download$/,
    because: 'makes the content an attachment; used by every client',
  },
  {
    method: 'POST',
    template: /\/files$/,
    what: 'content type',
    names: /^(?!application\/json$)/,
    because: 'told in prose: any other body is the file itself. JSON is not excused, it is how envelopes got stored',
  },
  {
    method: 'POST',
    template: /\/files$/,
    what: 'query',
    names: /^client_id$/,
    because: 'the raw upload reads it like client_ids of the form',
  },
  {
    method: 'GET',
    template: /\/users\/\{user_id\}\/teams\/unread$/,
    what: 'query',
    names: /^exclude_team$/,
    because: 'described as required, optional for the server',
  },
  {
    method: 'POST',
    template: /\/files\/search$/,
    what: 'content type',
    names: /^application\/json$/,
    because: 'described as a form, but the server decodes JSON',
  },
  {
    method: 'PUT',
    template: /\/posts\/schedule\/\{scheduled_post_id\}$/,
    what: 'body',
    names: /^(root_id|type|file_ids|props|priority|repeat_type|repeat_timezone)$/,
    because:
      'the server replaces the whole post; only the schema ScheduledPost names these fields, recent ones nothing',
  },
  {
    method: 'ANY',
    template: /\/channels\/categories(\/\{category_id\})?$/,
    what: 'body',
    names: /^(channel_ids|sorting|sort_order|muted|collapsed)$/,
    because: 'the server takes the categories that it returns',
  },
  {
    method: 'POST',
    template: /\/commands\/execute$/,
    what: 'body',
    names: /^(team_id|root_id)$/,
    because: 'read by the server: the team for direct channels, and the thread',
  },
  {
    method: 'POST',
    template: /\/posts\/\{post_id\}\/set_unread$/,
    what: 'body',
    names: /^$/,
    because: 'takes collapsed_threads_supported, which is not described',
  },
];

export function excused(given: Exception): boolean {
  return exceptions.some(
    ({ method, template, what, names }) =>
      (method === 'ANY' || method === given.method) &&
      what === given.what &&
      template.test(given.template) &&
      names.test(given.name),
  );
}
