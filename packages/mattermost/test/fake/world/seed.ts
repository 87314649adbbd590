// The initial state of a test as data; every part can be replaced.
import type { ChannelType, UserStatus } from './model.ts';

export interface SeedUser {
  username: string;
  firstName?: string;
  lastName?: string;
  nickname?: string;
  /** Default `<username>token000…`. */
  token?: string;
  admin?: boolean;
  bot?: boolean;
  deactivated?: boolean;
  status?: UserStatus;
}

export interface SeedTeam {
  name: string;
  displayName: string;
  members: string[];
}

export interface SeedChannel {
  name: string;
  team: string;
  displayName?: string;
  type?: Extract<ChannelType, 'O' | 'P'>;
  purpose?: string;
  header?: string;
  members: string[];
  archived?: boolean;
}

export interface SeedPost {
  /** Name of the post in tests. */
  key?: string;
  /** Name of the channel, or the users of a direct or group channel, e.g. `alice,bob`. */
  channel: string;
  user: string;
  message: string;
  /** Key of the post it replies to. */
  root?: string;
  type?: string;
  props?: Record<string, unknown>;
  /** Contents by file name. */
  files?: Record<string, string | Buffer>;
  editedTo?: string;
  pinned?: boolean;
  deleted?: boolean;
  /** Users by emoji name. */
  reactions?: Record<string, string[]>;
  savedBy?: string[];
  /** Users who have read the channel up to this post. */
  viewedBy?: string[];
}

export interface SeedGroup {
  name: string;
  displayName: string;
  members: string[];
}

export interface Seed {
  users: SeedUser[];
  teams: SeedTeam[];
  channels: SeedChannel[];
  /** Users of direct (two) and group (three to eight) channels. */
  conversations: string[][];
  posts: SeedPost[];
  groups: SeedGroup[];
  /** Creators by name. */
  emoji: Record<string, string>;
}

export const defaultSeed: Seed = {
  users: [
    { username: 'alice', firstName: 'Alice', lastName: 'Archer', nickname: 'Al', status: 'online' },
    { username: 'bob', firstName: 'Bob', lastName: 'Baker', status: 'away' },
    { username: 'carol', firstName: 'Carol', lastName: 'Cook', status: 'dnd' },
    { username: 'dave', firstName: 'Dave', lastName: 'Driver' },
    { username: 'admin', firstName: 'Ada', lastName: 'Min', admin: true },
    { username: 'helper', bot: true },
    { username: 'gone', firstName: 'Greta', lastName: 'Gone', deactivated: true },
  ],
  teams: [
    { name: 'main', displayName: 'Main Team', members: ['alice', 'bob', 'carol', 'admin', 'helper', 'gone'] },
    { name: 'other', displayName: 'Other Team', members: ['carol', 'dave', 'admin'] },
  ],
  channels: [
    {
      name: 'town-square',
      team: 'main',
      displayName: 'Town Square',
      members: ['alice', 'bob', 'carol', 'admin', 'helper'],
    },
    { name: 'off-topic', team: 'main', displayName: 'Off-Topic', members: ['alice', 'bob'] },
    { name: 'open-door', team: 'main', displayName: 'Open Door', purpose: 'Anybody may join', members: ['bob'] },
    { name: 'private-room', team: 'main', displayName: 'Private Room', type: 'P', members: ['alice', 'bob'] },
    { name: 'secret', team: 'main', displayName: 'Secret', type: 'P', members: ['bob', 'carol'] },
    { name: 'old-news', team: 'main', displayName: 'Old News', members: ['alice', 'bob'], archived: true },
    { name: 'elsewhere', team: 'other', displayName: 'Elsewhere', members: ['carol', 'dave'] },
  ],
  conversations: [
    ['alice', 'bob'],
    ['alice', 'bob', 'carol'],
  ],
  posts: [
    { channel: 'town-square', user: 'bob', message: 'bob joined the channel.', type: 'system_join_channel' },
    { key: 'hello', channel: 'town-square', user: 'bob', message: 'Hello everybody', reactions: { wave: ['alice'] } },
    { key: 'plan', channel: 'town-square', user: 'alice', message: 'The plan for the release', pinned: true },
    { key: 'plan-1', channel: 'town-square', user: 'bob', message: 'Looks good', root: 'plan' },
    { key: 'plan-2', channel: 'town-square', user: 'carol', message: 'When do we ship?', root: 'plan' },
    { key: 'edited', channel: 'town-square', user: 'bob', message: 'Lunch at noon', editedTo: 'Lunch at one' },
    { key: 'deleted', channel: 'town-square', user: 'bob', message: 'A slip of the tongue', deleted: true },
    {
      key: 'notes',
      channel: 'town-square',
      user: 'carol',
      message: 'Meeting notes',
      files: { 'notes.txt': 'First line\nSecond line\n' },
      savedBy: ['alice'],
      viewedBy: ['alice'],
    },
    { key: 'mention', channel: 'town-square', user: 'bob', message: '@alice can you look at the build?' },
    { key: 'after-mention', channel: 'town-square', user: 'carol', message: 'The build is red again' },
    { key: 'private', channel: 'private-room', user: 'bob', message: 'Between us', viewedBy: ['alice'] },
    { key: 'secret', channel: 'secret', user: 'carol', message: 'The build of the secret project' },
    { key: 'direct', channel: 'alice,bob', user: 'bob', message: 'Are you there?' },
    { key: 'group', channel: 'alice,bob,carol', user: 'carol', message: 'Lunch, you two?' },
    { key: 'elsewhere', channel: 'elsewhere', user: 'dave', message: 'Nothing for the main team' },
  ],
  groups: [
    { name: 'developers', displayName: 'Developers', members: ['alice', 'bob'] },
    { name: 'designers', displayName: 'Design Team', members: ['carol'] },
  ],
  emoji: { party_parrot: 'bob', shipit: 'alice' },
};
