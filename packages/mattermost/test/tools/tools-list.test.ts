// The response to tools/list.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { connect, eras } from '../connect.ts';

const ORIGINAL =
  `list_public_channels list_my_channels get_channel get_channel_by_name create_channel join_channel leave_channel
  mark_channel_viewed get_channel_members add_user_to_channel create_direct_channel post_message get_channel_messages
  search_messages update_message delete_message add_reaction remove_reaction get_reactions pin_message unpin_message
  get_thread get_me get_user get_user_by_username search_users get_user_status list_teams get_team get_team_members
  upload_file get_file_info get_file_link list_bookmarks create_bookmark update_bookmark delete_bookmark
  update_bookmark_sort_order`.split(/\s+/);
const ADDED =
  `get_post list_threads create_group_channel list_pinned_messages download_file get_file_content get_unread_inbox resolve
  list_saved_messages save_message unsave_message get_digest search_channels update_channel search_files`.split(/\s+/);
const GROUPS: Record<string, string> = {
  channels: 'archive_channel restore_channel remove_user_from_channel add_user_to_team',
  reading: 'update_thread mark_unread acknowledge_message',
  status: 'set_status',
  schedule: 'set_reminder schedule_message list_scheduled_messages update_scheduled_message delete_scheduled_message',
  people: 'list_user_groups list_user_group_members',
  emoji: 'list_emoji create_emoji delete_emoji',
  sidebar: 'list_sidebar_categories update_sidebar_category delete_sidebar_category',
  commands: 'list_slash_commands run_slash_command',
};
const GROUPED = Object.values(GROUPS).flatMap((names) => names.split(' '));
const CREATE = ['create_channel', 'create_direct_channel', 'create_group_channel'].concat([
  'restore_channel',
  'add_user_to_team',
  'create_emoji',
]);
const DELETE = ['delete_message', 'delete_bookmark', 'archive_channel', 'remove_user_from_channel'].concat([
  'delete_scheduled_message',
  'delete_emoji',
  'delete_sidebar_category',
  'run_slash_command',
]);
const ALL_GROUPS = { environment: { MATTERMOST_TOOL_GROUPS: 'all' } };

async function listTools(options: Parameters<typeof connect>[0] = {}) {
  const connection = await connect(options);
  const { tools } = await connection.client.listTools();
  await connection.close();
  return tools;
}

describe.each(eras)('in %s', (era) => {
  test('lists the tools that most agents need in less than 60 kB', async () => {
    const tools = await listTools({ era });
    expect(tools.map(({ name }) => name).sort()).toEqual([...ORIGINAL, ...ADDED].sort());
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThan(60_000);
  });

  test('every tool has a title, schemas, capability, tags and annotations', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const tool of await listTools({ era, ...ALL_GROUPS })) {
      const { capability, tags } = tool._meta as { capability: string; tags: string[] };
      const expected = CREATE.includes(tool.name) ? 'create' : DELETE.includes(tool.name) ? 'delete' : undefined;
      expect([expected ?? 'read', expected ?? 'write']).toContain(capability);
      expect(tags[0]).toBe('mattermost');
      expect(tool.title).toBeTruthy();
      expect(tool.description).toBeTruthy();
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      ajv.compile(tool.inputSchema);
      ajv.compile(tool.outputSchema ?? false);
      const isRead = capability === 'read';
      expect(tool.annotations).toMatchObject(
        isRead ? { readOnlyHint: true, idempotentHint: true } : { destructiveHint: expect.any(Boolean) },
      );
      if (capability === 'delete') expect(tool.annotations).toEqual({ destructiveHint: true });
      for (const [name, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
        if (/_id$/.test(name)) expect(schema).toMatchObject({ type: 'string', pattern: '^[A-Za-z0-9]{26}$' });
      }
    }
  });
});

test.each(Object.entries(GROUPS))('the group %s adds its tools', async (group, names) => {
  const tools = await listTools({ environment: { MATTERMOST_TOOL_GROUPS: group } });
  const added = tools.map(({ name }) => name).filter((name) => !ORIGINAL.includes(name) && !ADDED.includes(name));
  expect(added).toEqual(names.split(' '));
});

test('several groups can be named, and unknown ones are refused', async () => {
  const tools = await listTools({ environment: { MATTERMOST_TOOL_GROUPS: 'status, people' } });
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['set_status', 'list_user_groups']));
  expect(tools.map(({ name }) => name)).not.toContain('list_emoji');
  await expect(listTools({ environment: { MATTERMOST_TOOL_GROUPS: 'status,rights' } })).rejects.toThrow(
    'MATTERMOST_TOOL_GROUPS: is "rights", but must be all, or some of channels, reading',
  );
});

test('a tool of a group that is not listed can be called, within the profile', async () => {
  const call = async (profile: string) => {
    const connection = await connect({ environment: { MATTERMOST_PROFILE: profile } });
    const answer = await connection.call('set_status', { status: 'away' });
    await connection.close();
    return answer;
  };
  expect((await call('writer')).data).toMatchObject({ status: 'away' });
  expect((await call('reader')).text).toContain('needs the capability "write"');
});

test.each(eras)('Pocket Agent gets the tools of all groups in %s, marked as deferred', async (era) => {
  const connection = await connect({ era, clientName: 'pocket-agent' });
  const { tools } = await connection.client.listTools();
  await connection.close();
  const deferred = tools.filter(({ _meta }) => _meta?.exposure === 'deferred').map(({ name }) => name);
  expect(deferred.sort()).toEqual([...GROUPED].sort());
  expect(tools).toHaveLength(ORIGINAL.length + ADDED.length + GROUPED.length);
});

test('list_channels is not listed but returns public channels and private channels of the account', async () => {
  const connection = await connect();
  const team_id = connection.fake.team('main').id;
  const names: string[] = [];
  for (let next: object | undefined = { page: 0, per_page: 2 }; next; ) {
    const { data } = await connection.call('list_channels', { team_id, ...next });
    names.push(...data.channels.map((one: { name: string }) => one.name));
    next = data.truncated ? data.next : undefined;
  }
  expect(names.sort()).toEqual(['off-topic', 'open-door', 'private-room', 'town-square']);
  await connection.close();
});

test('a default team, by id or name, makes team_id optional; otherwise it is required', async () => {
  const teamIsRequired = async (environment: Record<string, string>) => {
    const tool = (await listTools({ environment })).find(({ name }) => name === 'search_messages');
    return tool?.inputSchema.required?.includes('team_id');
  };
  expect(await teamIsRequired({})).toBe(true);
  expect(await teamIsRequired({ MATTERMOST_DEFAULT_TEAM: 'main' })).toBe(false);

  const connection = await connect({ environment: { MATTERMOST_DEFAULT_TEAM: 'main' } });
  expect((await connection.call('search_messages', { terms: 'build' })).data.messages).toHaveLength(2);
  await connection.close();
});

test('without a default team a call without team_id is refused before any request', async () => {
  const connection = await connect();
  const { isError, text } = await connection.call('search_messages', { terms: 'build' });
  expect(isError).toBe(true);
  expect(text).toContain('MATTERMOST_DEFAULT_TEAM');
  expect(connection.fake.requests).toEqual([]);
  await connection.close();
});

test.each([
  ['get_channel', { channel_id: 'short' }, 'channel_id: must be an id of 26'],
  ['get_channel', { channel_id: 'x'.repeat(26), nope: 1 }, 'unknown argument "nope"; get_channel takes: channel_id'],
  [
    'get_channel',
    { channel: 'town-square' },
    ': channel_id is missing; unknown argument "channel"; get_channel takes: channel_id, full (optional)',
  ],
  ['get_channel_members', { channel_id: 'x'.repeat(26), page: 'two' }, ': page: expected number, received string'],
  ['create_bookmark', { channel_id: 'x'.repeat(26), display_name: 'x' }, 'bookmark_type is missing'],
  ['get_me', { who: 'me' }, 'unknown argument "who"; get_me takes'],
  ['create_channel', { team_id: 'x'.repeat(26), name: 'No Spaces', display_name: 'x' }, 'name'],
  ['create_channel', { team_id: 'x'.repeat(26), name: 'direct', display_name: 'x', channel_type: 'D' }, 'channel_type'],
  ['post_message', { channel_id: 'x'.repeat(26), message: ' ' }, 'message is empty'],
  ['post_message', { channel_id: 'x'.repeat(26), message: 'a'.repeat(16_384) }, 'message'],
  [
    'post_message',
    { channel_id: 'x'.repeat(26), message: '', attachments: [{ actions: [] }] },
    'unknown argument "attachments.0.actions"',
  ],
  ['post_message', { channel_id: 'x'.repeat(26), message: '', attachments: [{ title_link: 'x' }] }, 'needs title'],
  ['get_channel_members', { channel_id: 'x'.repeat(26), per_page: 201 }, 'per_page'],
  ['create_bookmark', { channel_id: 'x'.repeat(26), display_name: 'x', bookmark_type: 'link' }, 'needs link_url'],
  ['create_bookmark', { channel_id: 'x'.repeat(26), display_name: 'x', bookmark_type: 'file' }, 'needs file_id'],
  ['update_bookmark', { channel_id: 'x'.repeat(26), bookmark_id: 'x'.repeat(26) }, 'nothing to change'],
  ['upload_file', { channel_id: 'x'.repeat(26) }, 'either file_path or content_base64'],
  ['upload_file', { channel_id: 'x'.repeat(26), content_base64: 'YQ==' }, 'requires filename'],
  ['get_thread', { post_id: 'x'.repeat(26), from_post: 'x'.repeat(26) }, 'must be used together'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), unread_only: true, since: 1e12 }, 'cannot be combined'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since: 1e12, page: 1 }, 'page cannot be combined with since'],
  [
    'get_channel_messages',
    { channel_id: 'x'.repeat(26), unread_only: true, per_page: 5 },
    'per_page cannot be combined with unread_only; use limit_after',
  ],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since_post: 'x'.repeat(26) }, 'since_post requires since'],
  ['post_message', { channel_id: 'x'.repeat(26), message: 'a\0b' }, 'NUL characters (U+0000)'],
  [
    'post_message',
    { channel_id: 'x'.repeat(26), message: 'a', attachments: [{ fields: [{ title: '\0', value: 1 }] }] },
    'NUL characters (U+0000)',
  ],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), limit_after: 5 }, 'require unread_only'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since: 0 }, 'since'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), until: 1e12 }, 'until requires since or after'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since: 2e12, until: 1e12 }, 'until must be later than since'],
  [
    'get_channel_messages',
    { channel_id: 'x'.repeat(26), since: 1e12, until: 2e12, since_post: 'x'.repeat(26) },
    'since_post cannot be combined with until',
  ],
  ['get_digest', { since: 9e12 }, 'since must be in the past'],
  ['update_channel', { channel_id: 'x'.repeat(26) }, 'nothing to change; set header'],
  ['update_thread', { post_id: 'x'.repeat(26) }, 'nothing to change; set following or read'],
  ['update_thread', { post_id: 'x'.repeat(26), following: false, read: true }, 'only followed threads'],
  ['set_status', {}, 'nothing to change; set status'],
  ['set_status', { status: 'away', dnd_until: '2099-01-01T00:00:00Z' }, 'dnd_until requires status'],
  ['set_status', { status: 'dnd', dnd_until: '2020-01-01T00:00:00Z' }, 'dnd_until must be in the future'],
  ['set_status', { text: 'Lunch', clear_text: true }, 'clear_text cannot be combined'],
  ['set_reminder', { post_id: 'x'.repeat(26), time: '2020-01-01T00:00:00Z' }, 'time must be in the future'],
  ['schedule_message', { channel_id: 'x'.repeat(26), message: ' ', time: 9e12 }, 'message is empty'],
  ['update_scheduled_message', { scheduled_id: 'x'.repeat(26) }, 'nothing to change; set message or time'],
  ['run_slash_command', { channel_id: 'x'.repeat(26), command: 'shrug' }, 'must start with /'],
  [
    'post_message',
    { channel_id: 'x'.repeat(26), message: 'x', root_id: 'x'.repeat(26), priority: 'urgent' },
    'replies have no priority',
  ],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since: '2026-13-45T00:00Z' }, 'is not a valid time'],
  ['get_channel_messages', { channel_id: 'x'.repeat(26), since: '2026-02-30T00:00:00Z' }, 'is not a valid time'],
  [
    'get_channel_messages',
    { channel_id: 'x'.repeat(26), before: 'x'.repeat(26), page: 2 },
    'page cannot be combined with before',
  ],
])('%s with %j is refused before any request', async (name, args, reason) => {
  const connection = await connect();
  const { isError, text } = await connection.call(name, args);
  expect(isError).toBe(true);
  expect(text).toContain(reason);
  expect(connection.fake.requests).toEqual([]);
  await connection.close();
});
