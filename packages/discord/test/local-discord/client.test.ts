// The local Discord, used by an unmodified discord.js client.
import {
  ActionRowBuilder,
  ApplicationCommandType,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  type ChatInputCommandInteraction,
  Events,
  MessageFlags,
  ModalBuilder,
  SlashCommandBuilder,
  StringSelectMenuBuilder,
  TextInputBuilder,
  TextInputStyle,
} from 'discord.js';
import { DigitalDiscord } from 'discord-digital-twin';
import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../counterpart/discord.ts';
import { answers, botOptions, lastText, runBot } from '../support/start-bot.ts';
import { channelOf, clientOf, eventually, login, start } from './test-client.ts';

const button = (id: string, label: string) =>
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId(id).setLabel(label).setStyle(ButtonStyle.Primary),
  );

test('a client logs in, finds its guilds, and a wrong token is refused', async () => {
  const discord = await start({ guilds: [{ name: 'Home', channels: ['general'] }, { name: 'Work' }] });
  const client = await login(discord);
  expect(client.user.username).toBe('pocket');
  expect(client.guilds.cache.map((guild) => guild.name)).toEqual(['Home', 'Work']);
  expect(client.channels.cache.some((channel) => 'name' in channel && channel.name === 'general')).toBe(true);
  const members = await client.guilds.cache.first()?.members.fetch();
  expect(members?.map((member) => member.user.username)).toEqual(
    expect.arrayContaining(['owner', 'admin', 'ann', 'bob', 'otherbot', 'pocket']),
  );
  expect(discord.gateway.sessions).toHaveLength(1);

  await expect(clientOf(discord).login('wrong')).rejects.toThrow('An invalid token was provided');
});

test('a mention is answered by a reply that is edited and keeps its history', async () => {
  const discord = await start();
  const client = await login(discord);
  client.on(Events.MessageCreate, async (message) => {
    if (message.author.bot || !message.mentions.has(client.user)) return;
    await message.channel.sendTyping();
    const answer = await message.reply('one');
    await answer.edit('two');
    await answer.edit('three');
  });
  const seen: string[] = [];
  const unwatch = discord.watch(({ kind, message }) =>
    seen.push(message ? `${kind} ${message.author.username}` : kind),
  );
  onTestFinished(unwatch);
  const ann = discord.user('ann');
  const question = ann.say('general', `${discord.bot.mention} hello`);
  const answer = await discord.waitForBotMessage('general', ({ content }) => content === 'three');
  expect(answer.history.map(({ content }) => content)).toEqual(['one', 'two', 'three']);
  expect(answer.history.map(({ at }) => at)).toEqual([...answer.history.map(({ at }) => at)].sort());
  expect(answer.replyTo?.messageId).toBe(question.id);
  expect(answer.pinged.users).toEqual([ann.id]);
  expect(discord.typing.map(({ userId }) => userId)).toEqual([discord.bot.id]);
  expect(discord.unknownRequests).toEqual([]);
  expect(discord.transcript('general')).toBe(`#general\nann: ${discord.bot.mention} hello\npocket (edited 2×): three`);
  expect(seen).toEqual(['message ann', 'typing', 'message pocket', 'edit pocket', 'edit pocket']);
});

test('a message sent twice with an enforced nonce exists once, for some minutes', async () => {
  const discord = await start();
  const channel = await channelOf(await login(discord), discord.channel('general'));
  const send = () => channel.send({ content: 'once', nonce: '7', enforceNonce: true });
  const first = await send();
  expect((await send()).id).toBe(first.id);
  expect(discord.botMessages('general')).toHaveLength(1);
  discord.stage.pass(600_000);
  expect((await send()).id).not.toBe(first.id);
});

test('files are transferred unchanged in both directions', async () => {
  const discord = await start();
  const client = await login(discord);
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
  client.on(Events.MessageCreate, async (message) => {
    const attachment = message.attachments.first();
    if (message.author.bot || !attachment) return;
    const fetched = Buffer.from(await (await fetch(attachment.url)).arrayBuffer());
    await message.reply({
      content: `${attachment.name} ${attachment.contentType} ${attachment.size}`,
      files: [new AttachmentBuilder(fetched, { name: 'back.bin', description: 'the same' })],
    });
  });
  discord.user('ann').say('general', 'look', { attachments: [{ name: 'in.png', contentType: 'image/png', bytes }] });
  const answer = await discord.waitForBotMessage('general');
  expect(answer.content).toBe('in.png image/png 70000');
  expect(answer.files[0]).toMatchObject({ name: 'back.bin', description: 'the same' });
  expect(answer.files[0]?.bytes.equals(bytes)).toBe(true);
});

test('commands: options, autocomplete, deferred and ephemeral answers, buttons, menus, modals', async () => {
  const discord = await start();
  const client = await login(discord);
  const ask = new SlashCommandBuilder()
    .setName('ask')
    .setDescription('Asks')
    .addStringOption((option) => option.setName('question').setDescription('What').setRequired(true))
    .addStringOption((option) => option.setName('model').setDescription('Who').setAutocomplete(true))
    .addUserOption((option) => option.setName('about').setDescription('Whom'));
  const setup = new SlashCommandBuilder()
    .setName('setup')
    .setDescription('Sets up')
    .setDefaultMemberPermissions(8n)
    .addSubcommand((sub) =>
      sub
        .setName('role')
        .setDescription('A role')
        .addRoleOption((role) => role.setName('who').setDescription('Who').setRequired(true)),
    );
  await client.application.commands.set([
    ask.toJSON(),
    setup.toJSON(),
    { name: 'Explain this', type: ApplicationCommandType.Message },
  ]);
  expect(discord.commands()).toEqual(['ask', 'setup', 'Explain this']);

  const handleAsk = async (interaction: ChatInputCommandInteraction) => {
    await interaction.deferReply();
    await interaction.editReply({
      content: `${interaction.options.getString('question')} about ${interaction.options.getUser('about')?.username}`,
      components: [button('more', 'More')],
    });
    await interaction.followUp({ content: 'psst', flags: MessageFlags.Ephemeral });
  };
  client.on(Events.InteractionCreate, async (interaction) => {
    if (interaction.isAutocomplete()) {
      const typed = interaction.options.getFocused();
      await interaction.respond([{ name: `${typed}!`, value: typed }]);
    } else if (interaction.isMessageContextMenuCommand()) {
      const { content } = interaction.targetMessage;
      await interaction.reply({ content: `It says ${content}`, flags: MessageFlags.Ephemeral });
    } else if (interaction.isChatInputCommand() && interaction.commandName === 'ask') {
      await handleAsk(interaction);
    } else if (interaction.isChatInputCommand()) {
      const menu = new StringSelectMenuBuilder().setCustomId('size').addOptions({ label: 'Small', value: 's' });
      await interaction.reply({
        content: `role ${interaction.options.getRole('who')?.name}`,
        components: [new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(menu)],
      });
    } else if (interaction.isButton()) {
      const input = new TextInputBuilder().setCustomId('why').setLabel('Why').setStyle(TextInputStyle.Short);
      const row = new ActionRowBuilder<TextInputBuilder>().addComponents(input);
      await interaction.showModal(new ModalBuilder().setCustomId('form').setTitle('Form').addComponents(row));
    } else if (interaction.isModalSubmit() && interaction.isFromMessage()) {
      await interaction.update({ content: interaction.fields.getTextInputValue('why'), components: [] });
    } else if (interaction.isStringSelectMenu()) {
      await interaction.deferUpdate();
      await interaction.editReply({ content: `picked ${interaction.values.join()}`, components: [] });
    }
  });

  // an ephemeral answer comes back to the bot without a guild
  const direct: string[] = [];
  client.on(Events.Raw, ({ t, d }) => t === 'MESSAGE_CREATE' && !d.guild_id && direct.push(d.content));
  const ann = discord.user('ann');
  const offered = ann.complete('ask', { channel: 'general', options: { model: 'gp' }, focused: 'model' });
  expect(await offered.choices()).toEqual([{ name: 'gp!', value: 'gp' }]);

  const asked = ann.command('ask', { channel: 'general', options: { question: 'Who?', about: 'bob' } });
  const reply = await asked.reply();
  expect(reply.content).toBe('Who? about bob');
  expect((await asked.followUp()).onlyFor).toBe(ann.id);
  expect(ann.ephemeral('general').map(({ content }) => content)).toEqual(['psst']);
  await eventually(() => direct, ['psst']);
  expect(discord.user('bob').ephemeral()).toEqual([]);

  const sent = await ann.submit(ann.click(reply, 'More'), { why: 'because' });
  await sent.answered();
  expect(reply).toMatchObject({ content: 'because', components: [] });
  expect(() => ann.click(reply, 'More')).toThrow('ann sees no button "More"');

  expect(() => ann.command('setup role', { channel: 'general', options: { who: 'Helpers' } })).toThrow('not offered');
  const admin = discord.user('admin');
  const made = await admin.command('setup role', { channel: 'general', options: { who: 'Helpers' } }).reply();
  expect(made.content).toBe('role Helpers');
  await admin.pick(made, 'size', ['s']).answered();
  await discord.waitFor(() => made.content === 'picked s');

  const note = ann.say('general', 'a note');
  expect((await ann.messageCommand('Explain this', note).reply()).content).toBe('It says a note');
});

test('an unanswered interaction fails, and a late answer is refused', async () => {
  const discord = await start({ interactionTimeoutMs: 80 });
  const client = await login(discord);
  await client.application.commands.set([{ name: 'slow', description: 'Sleeps' }]);
  const got = new Promise<ChatInputCommandInteraction>((resolve) => {
    client.once(Events.InteractionCreate, (interaction) => interaction.isChatInputCommand() && resolve(interaction));
  });
  const slow = discord.user('ann').command('slow', { channel: 'general' });
  await expect(slow.reply()).rejects.toThrow('did not respond to "/slow" in time');
  expect(slow.failed).toBe(true);
  await expect((await got).reply('sorry')).rejects.toMatchObject({ code: 10062, status: 404 });
});

test('a second answer is refused, and the first follow-up replaces a deferred one', async () => {
  const discord = await start();
  const client = await login(discord);
  await client.application.commands.set([{ name: 'slow', description: 'Sleeps' }]);
  client.once(Events.InteractionCreate, async (interaction) => {
    if (!interaction.isChatInputCommand()) return;
    const { resource } = await interaction.reply({ content: 'first', withResponse: true });
    expect(resource?.message?.content).toBe('first');
    const again = client.rest.post(`/interactions/${interaction.id}/${interaction.token}/callback`, {
      auth: false,
      body: { type: 4, data: { content: 'again' } },
    });
    await again.catch((error) => interaction.followUp(String(error.code)));
  });
  const quick = discord.user('ann').command('slow', { channel: 'general' });
  expect((await quick.reply()).content).toBe('first');
  expect((await quick.followUp()).content).toBe('40060');

  client.once(Events.InteractionCreate, async (interaction) => {
    if (!interaction.isChatInputCommand()) return;
    await interaction.deferReply({ flags: MessageFlags.Ephemeral });
    await interaction.followUp('takes the place of "thinking…"');
  });
  const deferred = discord.user('ann').command('slow', { channel: 'general' });
  const taken = await deferred.reply();
  expect(taken).toMatchObject({ content: 'takes the place of "thinking…"', onlyFor: discord.user('ann').id });
});

test('direct messages, reactions, polls, pins and threads', async () => {
  const discord = await start({ guilds: [{ bot: ['PinMessages'] }] });
  const client = await login(discord);
  const ann = discord.user('ann');
  client.on(Events.MessageCreate, async (message) => {
    if (!message.author.bot) await message.channel.send(`${message.channel.isDMBased()} ${message.content}`);
  });
  ann.say(ann.dm, 'hi');
  expect((await discord.waitForBotMessage(ann.dm)).content).toBe('true hi');
  await client.users.send(ann.id, 'news');
  expect(discord.botMessages(ann.dm).at(-1)?.content).toBe('news');
  discord.stage.closeDms(discord.user('bob'));
  await expect(client.users.send(discord.user('bob').id, 'news')).rejects.toMatchObject({ code: 50007 });

  const channel = await channelOf(client, discord.channel('general'));
  const sent = await channel.send({
    poll: {
      question: { text: 'Lunch?' },
      answers: [{ text: 'yes' }, { text: 'no' }],
      duration: 1,
      allowMultiselect: false,
    },
  });
  await sent.react('👍');
  await sent.pin();
  const stored = discord.messages('general')[0];
  if (!stored) throw new Error('The poll is missing.');
  expect(stored.poll?.answers.map(({ poll_media }) => poll_media.text)).toEqual(['yes', 'no']);
  expect(stored.pinned).toBe(true);
  const reacted = new Promise<string>((resolve) => {
    client.once(Events.MessageReactionAdd, (reaction, user) => resolve(`${reaction.emoji.name} ${user.id}`));
  });
  ann.react(stored, '🎉');
  expect(await reacted).toBe(`🎉 ${ann.id}`);
  expect([...stored.reactions.keys()]).toEqual(['👍', '🎉']);

  const thread = await sent.startThread({ name: 'About lunch' });
  expect(discord.threads('general').map(({ name }) => name)).toEqual(['About lunch']);
  ann.say(thread.id, 'in here');
  expect((await discord.waitForBotMessage(thread.id)).content).toBe('false in here');
  await thread.setArchived(true);
  expect(discord.channel(thread.id).thread?.archived).toBe(true);

  const hidden = ann.thread('general', 'secret', { isPrivate: true });
  await expect(client.rest.get(`/channels/${hidden.id}`)).rejects.toMatchObject({ code: 50001 });
  ann.invite(hidden);
  ann.say(hidden, 'welcome');
  expect((await discord.waitForBotMessage(hidden)).content).toBe('false welcome');
});

test('allowedMentions limits who is pinged', async () => {
  const discord = await start({ guilds: [{ bot: ['MentionEveryone'] }] });
  const client = await login(discord);
  const channel = await channelOf(client, discord.channel('general'));
  const ann = discord.user('ann');
  const content = `@everyone ${ann.mention} \`${discord.user('bob').mention}\``;
  await channel.send(content);
  await channel.send({ content, allowedMentions: { parse: [] } });
  const [loud, quiet] = discord.messages('general');
  expect(loud?.pinged).toEqual({ users: [ann.id], roles: [], everyone: true });
  expect(quiet?.pinged).toEqual({ users: [], roles: [], everyone: false });
  expect(ann.say('general', '@everyone').pinged.everyone).toBe(false);
  expect(discord.user('admin').say('general', '@here').pinged.everyone).toBe(true);
});

test('100 channels are available, and closing leaves nothing open', async () => {
  const connections = () => process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;
  const before = connections();
  const channels = Array.from({ length: 100 }, (_, index) => `room-${index}`);
  const discord = await startDiscord({ guilds: [{ channels }], rateLimits: 'none' });
  const client = await login(discord, { rest: { globalRequestsPerSecond: 10_000 } });
  client.on(Events.MessageCreate, async (message) => {
    if (!message.author.bot) await message.reply(`to ${message.content}`);
  });
  for (const name of channels) discord.user('ann').say(name, name);
  const answered = (name: string) => discord.botMessages(name)[0]?.content === `to ${name}`;
  await discord.waitFor(() => channels.every(answered));
  await client.destroy();
  await discord.close();
  await expect(fetch(`${discord.apiUrl}/v10/gateway`)).rejects.toThrow();
  await eventually(() => connections() <= before, true);
});

/** It sends no mentions to bots, so the test uses commands and buttons. */
test('the bot also works on discord-digital-twin, an independent implementation', async () => {
  const twin = new DigitalDiscord({
    channels: [{ name: 'general', type: ChannelType.GuildText }],
    users: [{ username: 'ann' }],
  });
  await twin.start();
  onTestFinished(() => twin.stop());
  const discord = await start();
  for (const { apiUrl, token } of [{ apiUrl: twin.restUrl, token: twin.botToken }, discord]) {
    let count = 0;
    const model = answers((options) => `${++count}: ${/hello \w+/.exec(lastText(options, 'user'))?.[0]}`);
    await runBot(await botOptions({ apiUrl, token }, { model }));
  }
  const channel = twin.channel((await twin.prisma.channel.findFirst())?.id ?? '');
  const theirAnn = channel.user((await twin.getFirstNonBotUserId()) ?? '');
  const timeout = 5_000 * Number(process.env.TEST_PATIENCE);
  const theirs = (end: string) =>
    channel.waitForMessage({ timeout, predicate: ({ content }) => content.endsWith(end) });
  const ours = (end: string) => discord.waitForBotMessage('general', ({ content }) => content.endsWith(end));

  const ann = discord.user('ann');
  const question = 'hello there';
  await theirAnn.runSlashCommand({ name: 'ask', options: [{ name: 'question', type: 3, value: question }] });
  ann.command('ask', { channel: 'general', options: { question } });
  const [first, here] = [await theirs('1: hello there'), await ours('1: hello there')];
  expect(first.content).toBe(here.content);

  const customId = /again:\d+/.exec(JSON.stringify(first.components))?.[0] ?? '';
  await theirAnn.clickButton({ messageId: first.id, customId });
  ann.click(here, 'Regenerate');
  const [second, again] = [await theirs('2: hello there'), await ours('2: hello there')];
  expect(second).toMatchObject({ id: first.id, content: again.content });
});
