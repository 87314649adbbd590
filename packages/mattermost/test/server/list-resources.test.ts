// Long lists as resources with pages.
import { describe, expect, test } from 'vitest';
import { connectForTest, eras } from '../connect.ts';

const people = Array.from({ length: 450 }, (_, index) => `user${String(index).padStart(3, '0')}`);
const seed = {
  users: ['alice', ...people].map((username) => ({ username })),
  teams: [{ name: 'main', displayName: 'Main', members: ['alice', ...people] }],
  channels: [
    { name: 'town-square', team: 'main', displayName: 'Town Square', members: ['alice', ...people] },
    ...people.slice(0, 250).map((name) => ({ name: `room-${name}`, team: 'main', members: ['alice'] })),
  ],
  conversations: [],
  posts: [],
  groups: [],
  emoji: {},
};

describe.each(eras)('in %s', (era) => {
  test('each list is read whole by following next', async () => {
    const { client, fake } = await connectForTest({ era, fake: { seed } });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(
      expect.arrayContaining(['mattermost://team/{team_id}/channels/{page}']),
    );
    const count = async (start: string, field: string) => {
      const seen = new Set<string>();
      const pages: number[] = [];
      for (let uri: string | undefined = start; uri; ) {
        const [content] = (await client.readResource({ uri })).contents;
        const page = JSON.parse(content && 'text' in content ? content.text : '');
        for (const one of page[field]) seen.add(one.id ?? one.user_id);
        pages.push(page[field].length);
        uri = page.next;
      }
      return [seen.size, pages];
    };
    const team = fake.team('main').id;
    const channel = fake.channel('town-square').id;
    expect(await count(`mattermost://team/${team}/channels/0`, 'channels')).toEqual([251, [200, 51]]);
    expect(await count(`mattermost://team/${team}/members/0`, 'members')).toEqual([451, [200, 200, 51]]);
    expect(await count(`mattermost://channel/${channel}/members/0`, 'members')).toEqual([451, [200, 200, 51]]);
  });
});

test('invalid ids and pages, and hidden channels, are refused', async () => {
  const { client, fake } = await connectForTest({ environment: { MATTERMOST_READ_DENY_CHANNELS: 'off-topic' } });
  const read = (uri: string) => client.readResource({ uri });
  await expect(read('mattermost://team/main/channels/0')).rejects.toThrow('an id of 26 characters and a page from 0');
  const channel = fake.channel('town-square').id;
  await expect(read(`mattermost://channel/${channel}/members/x`)).rejects.toThrow('a page from 0');
  await expect(read(`mattermost://channel/${fake.channel('off-topic').id}/members/0`)).rejects.toThrow('Refused');
});
