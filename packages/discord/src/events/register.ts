// Registers the commands with Discord. An error names the command, the field and the reason.
import { type Client, DiscordAPIError } from 'discord.js';
import { firstFieldError, rawError } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import { definitions } from './command-list.ts';

export async function registerCommands({ application }: Client<true>): Promise<void> {
  const { integrationTypesConfig: installs } = await application.fetch();
  // the operator may have turned off that people install the app for themselves
  const offered = definitions.map((definition) => ({
    ...definition,
    integration_types: definition.integration_types?.filter((type) => !installs || installs[type] !== undefined),
  }));
  try {
    await application.commands.set(offered);
  } catch (error) {
    if (!(error instanceof DiscordAPIError)) throw error;
    throw new DiscordBotError('COMMANDS_REFUSED', refusal(error), { cause: error });
  }
}

function refusal(error: DiscordAPIError): string {
  const { message, errors } = rawError(error);
  const field = firstFieldError(errors);
  if (!field) return `Discord refused to register the slash commands: ${message || `it answered ${error.status}`}.`;
  const [index = '', ...path] = field.path;
  const name = definitions[Number(index)]?.name;
  const command = name === undefined ? 'the slash commands' : `the command "${name}"`;
  const place = path.length > 0 ? ` (field ${path.join('.')})` : '';
  return `Discord refused to register ${command}${place}: ${field.message}`;
}
