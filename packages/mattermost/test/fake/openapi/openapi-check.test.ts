// The check against an OpenAPI description reports violations.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startFakeMattermost } from '../fake-mattermost.ts';
import { userOf } from '../test-client.ts';
import { checkAgainstOpenApi } from './openapi-check.ts';

const small = `
openapi: 3.0.0
components:
  schemas:
    Reaction: { type: object, properties: { user_id: { type: string }, emoji_name: { type: string } } }
paths:
  /api/v4/posts:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [channel_id, message]
              properties: { channel_id: { type: string }, message: { type: string } }
  /api/v4/reactions:
    post:
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Reaction' } } } }
  /api/v4/channels/{channel_id}/posts:
    get:
      parameters:
        - { name: channel_id, in: path, required: true, schema: { type: string } }
        - { name: page, in: query, schema: { type: integer } }
`;

const request = { query: {}, headers: { 'content-type': 'application/json' }, json: undefined, bytes: 0 };
const post = { ...request, method: 'POST', path: '/api/v4/posts', bytes: 2 };

test('described requests and known exceptions pass', () => {
  const list = { ...request, method: 'GET', path: '/api/v4/channels/abc/posts' };
  const good = [
    { ...post, json: { channel_id: 'c', message: 'm', pending_post_id: 'p' } },
    { ...list, query: { page: '2', collapsedThreads: 'true' } },
    { ...request, method: 'POST', path: '/oauth/access_token' },
  ];
  expect(checkAgainstOpenApi(good, small)).toEqual([]);
});

test('undescribed paths, methods, query parameters and bodies are reported once each', () => {
  const bad = [
    { ...post, json: { channel_id: 5, mesage: 'm' } },
    { ...post, json: { channel_id: 5, mesage: 'm' } },
    { ...post, method: 'PATCH' },
    { ...request, method: 'POST', path: '/api/v4/posts' },
    { ...post, path: '/api/v4/reactions', json: { emoji_name: 1, user: 'me' } },
    { ...request, method: 'GET', path: '/api/v4/channels/abc/posts', query: { page: 'x', size: '3' } },
    { ...request, method: 'GET', path: '/api/v4/nothing' },
  ];
  expect(checkAgainstOpenApi(bad, small)).toEqual([
    'POST /api/v4/posts: body field "mesage" is not described',
    "POST /api/v4/posts: body must have required property 'message'",
    'POST /api/v4/posts: body/channel_id must be string',
    'PATCH /api/v4/posts: described for POST only',
    'POST /api/v4/posts: the body is missing',
    'POST /api/v4/reactions: body field "user" is not described',
    'POST /api/v4/reactions: body/emoji_name must be string',
    'GET /api/v4/channels/{channel_id}/posts: query page=x is no integer',
    'GET /api/v4/channels/{channel_id}/posts: query "size" is not described',
    'GET /api/v4/nothing: no such path is described',
  ]);
});

const atHand = process.env.MATTERMOST_OPENAPI;

if (atHand) {
  test('the real description, if available, matches the fake', async () => {
    const fake = await startFakeMattermost();
    const alice = userOf(fake, 'alice');
    const channel = fake.channel('town-square').id;
    await alice.post('/posts', { channel_id: channel, message: 'hi', pending_post_id: 'p' });
    await alice.get(`/channels/${channel}/posts?page=0&per_page=10&collapsedThreads=true`);
    await alice.get(`/users/me/teams/${fake.team('main').id}/threads?per_page=5&unread=true`);
    await alice.post('/channels/members/me/view', { channel_id: channel });
    await fake.close();
    expect(checkAgainstOpenApi(fake.requests, readFileSync(atHand, 'utf8'))).toEqual([]);
  });
}
