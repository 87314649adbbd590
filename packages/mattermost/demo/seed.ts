// The people, channels and messages at the start of the demo.
import type { Seed } from '../test/fake/world/seed.ts';

const everyone = ['cleo', 'ann', 'bob', 'helper'];

export const seed: Partial<Seed> = {
  users: [
    { username: 'ann', firstName: 'Ann', lastName: 'Archer' },
    { username: 'bob', firstName: 'Bob', lastName: 'Baker' },
    { username: 'cleo', firstName: 'Cleo', lastName: 'Cook', admin: true },
    { username: 'helper', bot: true },
  ],
  teams: [{ name: 'acme', displayName: 'Acme', members: everyone }],
  channels: [
    { name: 'releases', team: 'acme', displayName: 'Releases', members: everyone },
    { name: 'announcements', team: 'acme', displayName: 'Announcements', members: everyone },
    { name: 'payroll', team: 'acme', displayName: 'Payroll', type: 'P', members: ['cleo', 'ann'] },
  ],
  conversations: [['ann', 'bob']],
  posts: [
    { channel: 'releases', user: 'cleo', message: 'Version 2.4 is ready, the tests run.' },
    { channel: 'releases', user: 'bob', message: '@ann your review blocks 2.4.' },
    { channel: 'releases', user: 'bob', message: 'I start the release notes.' },
    { channel: 'announcements', user: 'cleo', message: 'Lunch is at noon today.' },
    { channel: 'payroll', user: 'cleo', message: 'The salaries of October are paid.' },
  ],
  groups: [],
  emoji: {},
};
