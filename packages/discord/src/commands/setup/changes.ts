// How each subcommand of /setup changes the settings.
import type { ChatInputCommandInteraction } from 'discord.js';
import { type ProfileName, profiles } from 'pocket-agent';
import { DiscordBotError } from '../../base/errors.ts';
import type { Models } from '../../config/models.ts';
import type { GuildSettings } from '../../store/guild-settings.ts';

type Options = ChatInputCommandInteraction['options'];

interface SetupInput {
  options: Options;
  models: Models;
}

type Change = (settings: GuildSettings, input: SetupInput) => void;

export function changeSettings(settings: GuildSettings, input: SetupInput): void {
  changes[input.options.getSubcommand()]?.(settings, input);
}

/** Subcommands without an entry change nothing. */
const changes: Readonly<Record<string, Change>> = {
  channel(settings, { options }) {
    settings.channels = withChange(settings.channels, options.getChannel('channel', true).id, options);
  },
  role(settings, { options }) {
    settings.roles = withChange(settings.roles, options.getRole('role', true).id, options);
  },
  profile(settings, { options }) {
    const profile = options.getString('profile') ?? '';
    const role = options.getRole('role');
    if (role && options.getBoolean('remove')) delete settings.profiles[role.id];
    else if (!isProfile(profile)) throw refusal('Choose a profile, or a role together with `remove`.');
    else if (role) settings.profiles[role.id] = profile;
    else settings.profile = profile;
  },
  model(settings, { options, models }) {
    const name = options.getString('name', true);
    const isKnown = models.has(name) || (options.getBoolean('remove') && settings.models.includes(name));
    if (!isKnown) throw refusal(`Unknown model \`${name}\`.`);
    settings.models = withChange(settings.models, name, options);
  },
  clear(settings, { options }) {
    const list = options.getString('what', true);
    if (list === 'profiles') settings.profiles = {};
    else if (list === 'channels' || list === 'roles' || list === 'models') settings[list] = [];
  },
  'mcp-remove'(settings, { options }) {
    const name = options.getString('name', true);
    if (!Object.hasOwn(settings.mcpServers, name)) throw refusal(`This server has no MCP server \`${name}\`.`);
    delete settings.mcpServers[name];
  },
  budget(settings, { options }) {
    const { guildUsd, userUsd } = settings.budget;
    const [server, person] = [options.getNumber('server'), options.getNumber('person')];
    const isEmpty = server === null && person === null;
    settings.budget = isEmpty ? {} : { guildUsd: server ?? guildUsd, userUsd: person ?? userUsd };
  },
  conversations(settings, { options }) {
    settings.scope = options.getString('scope', true) === 'user' ? 'user' : 'channel';
    settings.summaries = options.getBoolean('summaries') ?? settings.summaries;
  },
};

/** Adds an item to a list, or removes it with the option `remove`. */
function withChange(list: readonly string[], item: string, options: Options): string[] {
  const others = list.filter((other) => other !== item);
  return options.getBoolean('remove') ? others : [...others, item];
}

function refusal(reason: string): DiscordBotError {
  return new DiscordBotError('REFUSED', `${reason} Nothing was changed.`);
}

function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
