// A user of the fake with plain fetch, for tests of the fake.
import type { FakeMattermost } from './fake-mattermost.ts';

export interface Answer<Body> {
  status: number;
  body: Body;
  headers: Headers;
}

/** Fields of all post lists. */
export interface PostListBody {
  order: string[];
  posts: Record<string, { message: string; delete_at: number; root_id: string }>;
  next_post_id: string;
  prev_post_id: string;
  has_next?: boolean;
}

export function userOf(fake: FakeMattermost, name: string) {
  const call = async <Body>(method: string, path: string, json?: unknown): Promise<Answer<Body>> => {
    const response = await fetch(`${fake.url}/api/v4${path}`, {
      method,
      headers: { Authorization: `Bearer ${fake.token(name)}`, 'Content-Type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
  return {
    call,
    get: <Body>(path: string) => call<Body>('GET', path),
    post: <Body>(path: string, json?: unknown) => call<Body>('POST', path, json),
    put: <Body>(path: string, json?: unknown) => call<Body>('PUT', path, json),
    remove: <Body>(path: string) => call<Body>('DELETE', path),
    /** Messages of a list, in its order. */
    messages: async (path: string) => {
      const { body } = await call<PostListBody>('GET', path);
      return body.order.map((id) => body.posts[id]?.message);
    },
  };
}
