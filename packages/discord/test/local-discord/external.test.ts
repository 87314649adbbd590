// Discord's rules where the bot is not a member: it can only answer interactions, with five more messages at most.
import {
  ApplicationIntegrationType,
  type ChatInputCommandInteraction,
  Events,
  InteractionContextType,
} from 'discord.js';
import { expect, test } from 'vitest';
import { login, start } from './test-client.ts';

const definition = {
  name: 'hello',
  description: 'Says hello',
  integration_types: [ApplicationIntegrationType.GuildInstall, ApplicationIntegrationType.UserInstall],
  contexts: [InteractionContextType.Guild, InteractionContextType.PrivateChannel],
};

async function startAbroad() {
  const discord = await start({ guilds: [{ name: 'Abroad', channels: ['plaza'], bot: 'absent' }], rateLimits: 'none' });
  const client = await login(discord);
  const command = await client.application.commands.create({
    ...definition,
    integrationTypes: definition.integration_types,
  });
  const ann = discord.user('ann');
  discord.stage.install(ann);
  const interaction = new Promise<ChatInputCommandInteraction>((resolve) =>
    client.once(Events.InteractionCreate, (each) => each.isChatInputCommand() && resolve(each)),
  );
  return { discord, client, command, ann, interaction };
}

test('the bot knows nothing of the server and cannot write in it, except as an answer', async () => {
  const { discord, client, ann, interaction } = await startAbroad();
  const { id } = discord.channel('plaza');
  expect(client.guilds.cache.size).toBe(0);
  await expect(client.channels.fetch(id)).rejects.toMatchObject({ code: 50001 });
  const used = ann.command('hello', { channel: 'plaza' });
  const received = await interaction;
  expect(received).toMatchObject({ guild: null, context: InteractionContextType.Guild });
  expect(received.authorizingIntegrationOwners[ApplicationIntegrationType.UserInstall]).toBe(ann.id);
  expect(received.authorizingIntegrationOwners[ApplicationIntegrationType.GuildInstall]).toBeUndefined();
  expect(received.appPermissions.has('AttachFiles')).toBe(true);
  await received.reply('hello');
  expect((await used.reply()).content).toBe('hello');
  await expect(client.rest.post(`/channels/${id}/messages`, { body: { content: 'more' } })).rejects.toMatchObject({
    code: 50001,
  });
});

test('the sixth message after the answer is refused, and every message after 15 minutes', async () => {
  const { discord, ann, interaction } = await startAbroad();
  ann.command('hello', { channel: 'plaza' });
  const received = await interaction;
  await received.reply('hello');
  for (let count = 1; count <= 5; count++) await received.followUp(`more ${count}`);
  await expect(received.followUp('too many')).rejects.toMatchObject({ code: 40094 });
  await received.editReply('hello again');
  discord.stage.pass(900_001);
  await expect(received.editReply('too late')).rejects.toMatchObject({ code: 50027 });
});
