// Selected menu values and filled modals in the form that Discord's client sends.
import {
  type APIModalInteractionResponseCallbackData,
  ApplicationCommandOptionType,
  ComponentType,
} from 'discord-api-types/v10';
import { flatten, type WireComponent } from '../rules/component-rules.ts';
import type { Channel } from '../state/records.ts';
import type { World } from '../state/world.ts';
import { nothingResolved, resolve } from './command-data.ts';

const PICKED_BY_NAME: Partial<Record<ComponentType, ApplicationCommandOptionType>> = {
  [ComponentType.UserSelect]: ApplicationCommandOptionType.User,
  [ComponentType.RoleSelect]: ApplicationCommandOptionType.Role,
  [ComponentType.MentionableSelect]: ApplicationCommandOptionType.Mentionable,
  [ComponentType.ChannelSelect]: ApplicationCommandOptionType.Channel,
};

export function pickedValues(
  world: World,
  { select, values, channel }: { select: WireComponent; values: readonly string[]; channel: Channel },
): object {
  const { custom_id: menu, min_values: min = 1, max_values: max = 1, options = [] } = select;
  if (values.length < min || values.length > max) throw new Error(`"${menu}" takes ${min} to ${max} values.`);
  const type = PICKED_BY_NAME[select.type];
  if (type !== undefined) {
    const resolved = nothingResolved();
    return { values: values.map((value) => resolve(world, { type, value, channel, resolved })), resolved };
  }
  const unknown = values.find((value) => !options.some((option) => option.value === value));
  if (unknown === undefined) return { values };
  throw new Error(`"${menu}" does not offer "${unknown}", but ${options.map(({ value }) => value).join(', ')}.`);
}

export function submittedModal(
  modal: APIModalInteractionResponseCallbackData,
  fields: Record<string, string | string[]>,
): object {
  const components: WireComponent[] = modal.components;
  const inputs = flatten(components).flatMap(({ custom_id }) => custom_id ?? []);
  const unknown = Object.keys(fields).find((name) => !inputs.includes(name));
  if (unknown !== undefined) throw new Error(`The modal has no field "${unknown}", but ${inputs.join(', ')}.`);
  return { custom_id: modal.custom_id, components: components.map((component) => filled(component, fields)) };
}

function filled(component: WireComponent, fields: Record<string, string | string[]>): object {
  const { type, custom_id = '', components, component: inner } = component;
  if (components) return { type, components: components.map((child) => filled(child, fields)) };
  if (inner) return { type, component: filled(inner, fields) };
  if (type === ComponentType.TextDisplay) return { type };
  const given = fields[custom_id];
  if (type !== ComponentType.TextInput) return { type, custom_id, values: [given ?? []].flat() };
  const value = String(given ?? component.value ?? '');
  const { required = true, min_length: min = 0, max_length: max = 4000 } = component;
  if (required && value === '') throw new Error(`The field "${custom_id}" is required.`);
  if (value !== '' && (value.length < min || value.length > max)) {
    throw new Error(`The field "${custom_id}" takes ${min} to ${max} characters.`);
  }
  return { type, custom_id, value };
}
