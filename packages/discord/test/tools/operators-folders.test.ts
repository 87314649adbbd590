// Tool folders of the operator: a manifest without capabilities, a two-argument constructor, included folders.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pocket-agent';
import { expect, test } from 'vitest';
import { SEED_MANIFEST, SEED_TOOLS } from '../../../tool-folder/test/fixtures/seed-manifest.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { calls, quiet, startBot, temporaryFolder } from '../support/start-bot.ts';

async function seedFolder(code = SEED_TOOLS): Promise<string> {
  const root = await temporaryFolder();
  await mkdir(join(root, 'Multiplication'));
  await writeFile(join(root, 'Multiplication', 'manifest.yaml'), SEED_MANIFEST);
  await writeFile(join(root, 'Multiplication', 'tool.mjs'), code);
  return root;
}

const multiply = { name: 'multiply', arguments: { multiplicand: 6, multiplier: 7 } };
const chosen = { options: { name: 'Multiplication Tool' } };

test('a manifest without a capability is reported at the start and in /agent', async () => {
  const said: string[] = [];
  const note = (message: string, fields?: Record<string, unknown>) =>
    void said.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const logger: Logger = { ...quiet, info: note, warn: note };
  const model = calls(multiply);
  const { discord } = await startBot({ model, toolDirectories: [await seedFolder()], logger });
  expect(said.find((line) => line.includes('no capability for "multiply", treated like delete'))).toBeDefined();
  expect(said.find((line) => line.startsWith('Ready'))).toContain('"toolsWithoutCapability":["multiply"]');
  const ann = discord.user('ann');
  await ann.command('agent', { channel: 'general', options: { name: 'Disabled' } }).reply();
  const { content } = await ann.command('agent', { channel: 'general', ...chosen }).reply();
  expect(content).toBe(
    [
      'Chosen, but not available to your profile: **Multiplication Tool**.',
      '-# `multiply` of **Multiplication Tool**: treated as `delete`, because the manifest declares no `capability`.',
      '-# 1 of 1 tools of **Multiplication Tool** are not available to the profile manager: they can delete, or declare no capability.',
    ].join('\n'),
  );
});

test('with a default capability the same folder works unchanged', async () => {
  const model = calls(multiply);
  const { discord } = await startBot({
    model,
    toolDirectories: [await seedFolder()],
    defaultCapability: 'read',
  });
  const ann = discord.user('ann');
  const { content } = await ann.command('agent', { channel: ann.dm, ...chosen }).reply();
  expect(content).toContain('These tools are on: **Multiplication Tool**, ');
  expect(content).not.toContain('hidden');
  ann.say(ann.dm, 'six times seven?');
  await discord.waitForBotMessage(ann.dm, (message) => message.content.includes('42'));
});

test('a constructor (discord_ctx, discord_bot) gets the channel of the question and the bot', async () => {
  const code = SEED_TOOLS.replace(
    'return multiplicand * multiplier',
    'await this.discord_ctx.channel.send(this.discord_bot.user.username + ": " + multiplicand * multiplier); return "sent"',
  );
  const { discord } = await startBot({
    model: calls(multiply),
    toolDirectories: [await seedFolder(code)],
    defaultCapability: 'read',
  });
  discord.user('ann').say('general', `${discord.bot.mention} six times seven?`);
  await discord.waitForBotMessage('general', ({ content }) => content === `${discord.bot.name}: 42`);
});

test('included folders can be named like a directory', async () => {
  expect(readEnvironment({ POCKET_DISCORD_TOOLS: 'web, github' }).toolDirectories).toEqual(['web', 'github']);
  const { discord } = await startBot({ toolDirectories: ['web'] });
  const ann = discord.user('ann');
  const { content } = await ann.command('agent', { channel: ann.dm, options: { name: 'Web' } }).reply();
  expect(content).toContain('**Web**');
});

test('invalid variables are refused with a suggestion', () => {
  const faults = (env: Record<string, string>) => {
    try {
      readEnvironment(env);
      return '';
    } catch (error) {
      return String(error);
    }
  };
  expect(faults({ POCKET_DISCORD_DEFAULT_CAPABILITY: 'raed' })).toContain(
    'POCKET_DISCORD_DEFAULT_CAPABILITY must be one of read, write, create, delete, got "raed". Did you mean "read"?',
  );
  expect(faults({ POCKET_DISCORD_FILE_HOSTS: 'http://cdn' })).toContain(
    'POCKET_DISCORD_FILE_HOSTS[0] must be a host such as',
  );
  const read = readEnvironment({
    POCKET_DISCORD_DEFAULT_CAPABILITY: 'read',
    POCKET_DISCORD_FILE_HOSTS: 'cdn.example:3003',
    POCKET_DISCORD_ALLOW_LINK_HOSTS: '*.example.com',
  });
  expect(read).toMatchObject({
    defaultCapability: 'read',
    fileHosts: ['cdn.example:3003'],
    allowLinkHosts: ['*.example.com'],
  });
});
