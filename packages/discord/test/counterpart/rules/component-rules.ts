// Discord's rules for buttons, menus and modals.
import {
  type APIModalInteractionResponseCallbackData,
  ButtonStyle,
  ComponentType,
  TextInputStyle,
} from 'discord-api-types/v10';
import { Form } from './form.ts';

/** Any component as sent; its type decides which fields apply. */
export interface WireComponent {
  type: ComponentType;
  custom_id?: string;
  label?: string;
  url?: string;
  style?: number;
  emoji?: { name?: string; id?: string };
  disabled?: boolean;
  placeholder?: string;
  content?: string;
  options?: { label: string; value: string; description?: string; default?: boolean }[];
  min_values?: number;
  max_values?: number;
  min_length?: number;
  max_length?: number;
  required?: boolean;
  value?: string;
  components?: WireComponent[];
  component?: WireComponent;
  accessory?: WireComponent;
}

const SELECTS = new Set([
  ComponentType.StringSelect,
  ComponentType.UserSelect,
  ComponentType.RoleSelect,
  ComponentType.MentionableSelect,
  ComponentType.ChannelSelect,
]);
const ONLY_V2 = new Set([
  ComponentType.Section,
  ComponentType.TextDisplay,
  ComponentType.Thumbnail,
  ComponentType.MediaGallery,
  ComponentType.File,
  ComponentType.Separator,
  ComponentType.Container,
]);

export const isSelect = (component: WireComponent): boolean => SELECTS.has(component.type);

/** A component and all components inside it. */
export function flatten(components: readonly WireComponent[]): WireComponent[] {
  return components.flatMap((component) => [
    component,
    ...flatten(component.components ?? []),
    ...flatten(component.component ? [component.component] : []),
    ...flatten(component.accessory ? [component.accessory] : []),
  ]);
}

export function checkComponents(form: Form, components: readonly WireComponent[], v2: boolean): void {
  const all = flatten(components);
  if (v2) {
    form.list('components', all, { max: 40 });
    const letters = all.reduce((sum, { content = '' }) => sum + content.length, 0);
    if (letters > 4000) form.refuse('components', 'COMPONENT_TEXT_MAX_LENGTH: Must be 4000 or fewer in length.');
  } else {
    form.list('components', components, { max: 5 });
  }
  const seen = new Set<string>();
  components.forEach((component, index) => {
    checkComponent(form, { component, path: `components.${index}`, seen, v2, top: true });
  });
}

interface Place {
  component: WireComponent;
  path: string;
  seen: Set<string>;
  v2: boolean;
  top?: boolean;
}

function checkComponent(form: Form, { component, path, seen, v2, top = false }: Place): void {
  const inner = component.components ?? [];
  const plainTop = component.type === ComponentType.ActionRow;
  if (top && !plainTop && !(v2 && ONLY_V2.has(component.type))) {
    form.refuse(`${path}.type`, 'UNION_TYPE_CHOICES: Value of field "type" must be one of (1,).');
  }
  if (plainTop) checkRow(form, path, inner);
  if (component.type === ComponentType.Button) checkButton(form, path, component);
  if (isSelect(component)) checkSelect(form, path, component);
  if (component.custom_id !== undefined) {
    if (seen.has(component.custom_id)) {
      form.refuse(`${path}.custom_id`, 'COMPONENT_CUSTOM_ID_DUPLICATED: Component custom id cannot be duplicated');
    }
    seen.add(component.custom_id);
  }
  inner.forEach((child, index) => {
    checkComponent(form, { component: child, path: `${path}.components.${index}`, seen, v2 });
  });
  if (component.accessory) {
    checkComponent(form, { component: component.accessory, path: `${path}.accessory`, seen, v2 });
  }
}

function checkRow(form: Form, path: string, components: WireComponent[]): void {
  form.list(`${path}.components`, components, { min: 1, max: 5 });
  const width = components.reduce((sum, component) => sum + (isSelect(component) ? 5 : 1), 0);
  if (width > 5) {
    form.refuse(
      `${path}.components`,
      'COMPONENT_LAYOUT_WIDTH_EXCEEDED: The specified component exceeds the maximum width',
    );
  }
}

function checkButton(form: Form, path: string, { style, url, custom_id, label, emoji }: WireComponent): void {
  form.text(`${path}.label`, label, { max: 80 });
  if (style === ButtonStyle.Link) {
    form.text(`${path}.url`, url, { min: 1, max: 512 });
    if (custom_id !== undefined) {
      form.refuse(
        path,
        'BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE: A custom id and url cannot both be specified',
      );
    }
  } else if (style !== ButtonStyle.Premium) {
    form.text(`${path}.custom_id`, custom_id, { min: 1, max: 100 });
  }
  if (!label && !emoji && style !== ButtonStyle.Premium) {
    form.refuse(path, 'BUTTON_COMPONENT_INVALID_EMOJI_OR_LABEL: A button must have a label or an emoji');
  }
}

function checkSelect(form: Form, path: string, component: WireComponent): void {
  const { options = [], min_values: min, max_values: max } = component;
  form.text(`${path}.custom_id`, component.custom_id, { min: 1, max: 100 });
  form.text(`${path}.placeholder`, component.placeholder, { max: 150 });
  form.integer(`${path}.min_values`, min, { min: 0, max: 25 });
  form.integer(`${path}.max_values`, max, { min: 1, max: 25 });
  if (component.type !== ComponentType.StringSelect) return;
  form.list(`${path}.options`, options, { min: 1, max: 25 });
  const values = new Set<string>();
  options.forEach((option, index) => {
    form.text(`${path}.options.${index}.label`, option.label, { min: 1, max: 100 });
    form.text(`${path}.options.${index}.value`, option.value, { min: 1, max: 100 });
    form.text(`${path}.options.${index}.description`, option.description, { max: 100 });
    if (values.has(option.value)) {
      form.refuse(
        `${path}.options.${index}.value`,
        'SELECT_COMPONENT_OPTION_VALUE_DUPLICATED: The specified option value is already used',
      );
    }
    values.add(option.value);
  });
  if (max !== undefined && max > options.length) {
    form.refuse(`${path}.options`, `SELECT_COMPONENT_INVALID_OPTIONS: There must be at least ${max} options`);
  }
}

export function checkModal(modal: APIModalInteractionResponseCallbackData): void {
  const form = new Form();
  const components: WireComponent[] = modal.components ?? [];
  form.text('data.title', modal.title, { min: 1, max: 45 });
  form.text('data.custom_id', modal.custom_id, { min: 1, max: 100 });
  form.list('data.components', components, { min: 1, max: 5 });
  const seen = new Set<string>();
  for (const [index, component] of components.entries()) {
    const path = `data.components.${index}`;
    if (component.type === ComponentType.Label) form.text(`${path}.label`, component.label, { min: 1, max: 45 });
    for (const input of flatten([component])) {
      if (input.type === ComponentType.Button) {
        form.refuse(`${path}.components`, 'UNION_TYPE_CHOICES: Value of field "type" must be one of (4,).');
      }
      if (input.type === ComponentType.TextInput) checkTextInput(form, path, input);
      if (input.custom_id === undefined) continue;
      if (seen.has(input.custom_id)) {
        form.refuse(path, 'COMPONENT_CUSTOM_ID_DUPLICATED: Component custom id cannot be duplicated');
      }
      seen.add(input.custom_id);
    }
  }
  form.done();
}

function checkTextInput(form: Form, path: string, input: WireComponent): void {
  form.text(`${path}.components.0.custom_id`, input.custom_id, { min: 1, max: 100 });
  form.text(`${path}.components.0.label`, input.label, { max: 45 });
  form.text(`${path}.components.0.value`, input.value, { max: 4000 });
  form.text(`${path}.components.0.placeholder`, input.placeholder, { max: 100 });
  form.integer(`${path}.components.0.max_length`, input.max_length, { min: 1, max: 4000 });
  form.integer(`${path}.components.0.min_length`, input.min_length, { min: 0, max: 4000 });
  if (input.style !== TextInputStyle.Short && input.style !== TextInputStyle.Paragraph) {
    form.refuse(`${path}.components.0.style`, 'BASE_TYPE_CHOICES: Value must be one of {1, 2}.');
  }
}
