// Discord's rules for application commands.
import {
  type APIApplicationCommandOption,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  type RESTPostAPIApplicationCommandsJSONBody,
  type RESTPostAPIChatInputApplicationCommandsJSONBody,
} from 'discord-api-types/v10';
import { Form } from './form.ts';

type Option = APIApplicationCommandOption;

const NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;
const MAX_COUNTS = {
  [ApplicationCommandType.ChatInput]: 100,
  [ApplicationCommandType.User]: 15,
  [ApplicationCommandType.Message]: 15,
  [ApplicationCommandType.PrimaryEntryPoint]: 1,
};
const TOTAL_LENGTH = 8000;

/** `single` for one command; in a list, the paths of problems start with the index. */
export function checkCommands(
  commands: readonly RESTPostAPIApplicationCommandsJSONBody[],
  { single = false }: { single?: boolean } = {},
): void {
  const form = new Form();
  const seen = new Set<string>();
  commands.forEach((command, index) => {
    const at = single ? '' : `${index}.`;
    const type = command.type ?? ApplicationCommandType.ChatInput;
    if (seen.has(`${type}:${command.name}`)) {
      form.refuse(`${at}name`, 'APPLICATION_COMMANDS_DUPLICATE_NAME: Application command names must be unique');
    }
    seen.add(`${type}:${command.name}`);
    checkCommand(form, at, command);
  });
  for (const [type, most] of Object.entries(MAX_COUNTS)) {
    const count = [...seen].filter((key) => key.startsWith(`${type}:`)).length;
    if (count > most) form.refuse('type', `APPLICATION_COMMANDS_LIMIT: Must have ${most} or fewer of type ${type}.`);
  }
  form.done();
}

function checkCommand(form: Form, at: string, command: RESTPostAPIApplicationCommandsJSONBody): void {
  if (!isChatCommand(command)) {
    form.text(`${at}name`, command.name, { min: 1, max: 32 });
    if ('description' in command && command.description) {
      form.refuse(`${at}description`, 'APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED: Must be empty for this type.');
    }
    return;
  }
  checkName(form, `${at}name`, command.name);
  form.text(`${at}description`, command.description, { min: 1, max: 100 });
  checkOptions(form, { at, options: command.options ?? [], depth: 0 });
  if (lengthOf(command) > TOTAL_LENGTH) {
    form.refuse(`${at}name`, 'APPLICATION_COMMAND_TOO_LARGE: Command exceeds maximum size (8000)');
  }
}

function isChatCommand(
  command: RESTPostAPIApplicationCommandsJSONBody,
): command is RESTPostAPIChatInputApplicationCommandsJSONBody {
  return (command.type ?? ApplicationCommandType.ChatInput) === ApplicationCommandType.ChatInput;
}

function checkName(form: Form, path: string, name: unknown): void {
  form.text(path, name, { min: 1, max: 32 });
  if (typeof name === 'string' && (!NAME.test(name) || name !== name.toLowerCase())) {
    form.refuse(path, 'APPLICATION_COMMAND_INVALID_NAME: Command name is invalid');
  }
}

const isNested = (option: Option) =>
  option.type === ApplicationCommandOptionType.Subcommand ||
  option.type === ApplicationCommandOptionType.SubcommandGroup;

function checkOptions(
  form: Form,
  { at, options, depth }: { at: string; options: readonly Option[]; depth: number },
): void {
  form.list(`${at}options`, options, { max: 25 });
  const names = new Set<string>();
  let optionalSeen = false;
  options.forEach((option, index) => {
    const path = `${at}options.${index}.`;
    checkName(form, `${path}name`, option.name);
    form.text(`${path}description`, option.description, { min: 1, max: 100 });
    if (names.has(option.name)) {
      form.refuse(`${path}name`, 'APPLICATION_COMMAND_OPTIONS_NAME_INVALID: Option names must be unique');
    }
    names.add(option.name);
    if (isNested(option) !== options.every(isNested)) {
      form.refuse(
        `${path}type`,
        'APPLICATION_COMMAND_OPTIONS_TYPE_INVALID: Sub-command and sub-command group option types are mutually exclusive to all other types',
      );
    }
    if (option.required && optionalSeen) {
      form.refuse(
        `${path}required`,
        'APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID: Required options must be placed before non-required options',
      );
    }
    optionalSeen ||= !option.required;
    checkInside(form, { path, option, depth });
  });
}

function checkInside(form: Form, { path, option, depth }: { path: string; option: Option; depth: number }): void {
  if (option.type === ApplicationCommandOptionType.SubcommandGroup) {
    const bad = depth > 0 || option.options?.some(({ type }) => type !== ApplicationCommandOptionType.Subcommand);
    if (bad) form.refuse(`${path}type`, 'APPLICATION_COMMAND_OPTIONS_TYPE_INVALID: Groups hold only sub-commands');
  }
  if (isNested(option)) {
    const options = 'options' in option ? (option.options ?? []) : [];
    checkOptions(form, { at: path, options, depth: depth + 1 });
    return;
  }
  const choices = 'choices' in option ? (option.choices ?? []) : [];
  form.list(`${path}choices`, choices, { max: 25 });
  choices.forEach((choice, index) => {
    form.text(`${path}choices.${index}.name`, choice.name, { min: 1, max: 100 });
    if (typeof choice.value === 'string')
      form.text(`${path}choices.${index}.value`, choice.value, { min: 1, max: 100 });
  });
  if (choices.length > 0 && 'autocomplete' in option && option.autocomplete) {
    form.refuse(
      `${path}autocomplete`,
      'APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID: Autocomplete is not allowed together with choices',
    );
  }
}

function lengthOf(command: { name: string; description?: string; options?: readonly Option[] }): number {
  let length = command.name.length + (command.description?.length ?? 0);
  for (const option of command.options ?? []) {
    const { name, description } = option;
    const options = isNested(option) && 'options' in option ? (option.options ?? []) : [];
    length += lengthOf({ name, description, options });
    const choices = 'choices' in option ? (option.choices ?? []) : [];
    for (const choice of choices) length += choice.name.length + String(choice.value).length;
  }
  return length;
}
