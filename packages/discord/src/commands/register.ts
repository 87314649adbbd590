// The commands of the bot, registered with Discord. What it refuses is named: which command, which field, and why.
import { type Client, DiscordAPIError } from 'discord.js';
import { firstFault, rawError } from '../base/discord-errors.ts';
import { DiscordBotError } from '../base/errors.ts';
import { definitions } from './command-list.ts';

export async function registerCommands({ application }: Client<true>): Promise<void> {
  try {
    await application.commands.set(definitions);
  } catch (error) {
    if (!(error instanceof DiscordAPIError)) throw error;
    throw new DiscordBotError('COMMANDS_REFUSED', refusal(error), { cause: error });
  }
}

function refusal(error: DiscordAPIError): string {
  const { message, errors } = rawError(error);
  const fault = firstFault(errors);
  if (!fault) return `Discord refused to register the slash commands: ${message || `it answered ${error.status}`}.`;
  const [index = '', ...field] = fault.path;
  const name = definitions[Number(index)]?.name;
  const command = name === undefined ? 'the slash commands' : `the command "${name}"`;
  const place = field.length > 0 ? ` (field ${field.join('.')})` : '';
  return `Discord refused to register ${command}${place}: ${fault.message}`;
}
