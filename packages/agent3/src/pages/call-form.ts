// The form to call an agent: fields from the input schema of each skill, or a message in plain words.
import { inputSchemaOf } from '@pocket-agent/a2a/client';
import { isRecord, recordsIn, stringsIn } from '@pocket-agent/kit';
import { html } from 'hono/html';
import type { CardJson } from '../base/agents.ts';
import { cleanExcerpt } from '../base/clean-text.ts';
import { type Html, needsScripts } from './layout.ts';

type Schema = Record<string, unknown>;

interface Input {
  /** Empty for the whole agent. */
  skillId: string;
  name: string;
  schema: Schema | undefined;
}

const MAX_FIELDS = 40;
const MAX_SKILLS = 100;
const MAX_LENGTH = 300;
/** Longer strings are written in a larger field. */
const LINE_LENGTH = 200;

export function callForm(agentId: string, card: CardJson | undefined): Html {
  const inputs = inputsOf(card ?? {});
  const example = exampleIn(card ?? {});
  return html`<form class="panel sent call" data-send="/api/calls" data-kind="call">
    ${needsScripts}
    <input type="hidden" name="agentId" value="${agentId}">
    ${inputs.length > 1 ? skillSelect(inputs) : ''}
    ${inputs.map(
      ({ skillId, schema }, index) =>
        html`<fieldset class="fields" data-skill="${skillId}" ${index === 0 ? '' : 'hidden disabled'}>${schema ? schemaFields(schema, example) : plainMessage(example)}</fieldset>`,
    )}
    <fieldset class="fields" data-reply hidden disabled><label class="field">Reply <textarea data-field="" data-type="text" rows="2" maxlength="200000" required></textarea></label></fieldset>
    <details><summary>Options</summary><div class="filters">
      <label>Timeout (seconds) <input type="number" name="timeout" min="1" max="3600" placeholder="30"></label>
      <label>Maximum cost (USD) <input type="number" name="maxCost" min="0" step="any" placeholder="no maximum"></label>
    </div></details>
    <div class="row"><button>Call</button><button type="button" class="quiet" data-stop hidden>Stop</button><span class="soft small" data-status role="status"></span></div>
    <output aria-label="Answer"></output>
  </form>`;
}

function plainMessage(example: string): Html {
  return html`<label class="field">Message <textarea data-field="" data-type="text" rows="3" maxlength="200000" placeholder="${example}" required></textarea></label>`;
}

function exampleIn(card: CardJson): string {
  const [example = ''] = recordsIn(card.skills).flatMap(({ examples }) => stringsIn(examples));
  return shown(example);
}

function skillSelect(inputs: readonly Input[]): Html {
  return html`<label class="field">Skill <select name="skillId">${inputs.map(({ skillId, name }) => html`<option value="${skillId}">${name}</option>`)}</select></label>`;
}

/** The whole agent first; further entries are skills with a schema of their own. */
function inputsOf(card: CardJson): Input[] {
  const whole = inputSchemaOf(card, undefined);
  const skills = recordsIn(card.skills)
    .slice(0, MAX_SKILLS)
    .flatMap((skill) => {
      const schema = inputSchemaOf(card, skill);
      const isOwn = schema !== undefined && schema !== whole;
      return isOwn ? [{ skillId: String(skill.id), name: shown(skill.name ?? skill.id), schema }] : [];
    });
  const [only] = skills;
  // a single skill with a schema is what the agent does
  if (only && !whole && skills.length === 1 && recordsIn(card.skills).length === 1) return [only];
  return [{ skillId: '', name: 'Let the agent decide', schema: whole }, ...skills];
}

/** One field per property. Everything that is not simple is written as JSON. */
function schemaFields(schema: Schema, example: string): Html {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  if (names.length === 0 || names.length > MAX_FIELDS)
    return schema.type === 'string'
      ? plainMessage(example)
      : html`<label class="field">Input as JSON <textarea data-field="" data-type="text" rows="6" maxlength="200000" required></textarea></label>`;
  const required = new Set(stringsIn(schema.required));
  return html`${names.map((name) => {
    const property = isRecord(properties[name]) ? properties[name] : {};
    return field({ name, property, isRequired: required.has(name) });
  })}`;
}

interface Field {
  name: string;
  property: Schema;
  isRequired: boolean;
}

function field({ name, property, isRequired }: Field): Html {
  const title = shown(property.title ?? name);
  const hint =
    typeof property.description === 'string' ? html`<span class="hint">${shown(property.description)}</span>` : '';
  const label = html`<span>${title}${isRequired ? '' : ' (optional)'}</span>`;
  if (property.type === 'boolean' && !isRequired) {
    const choices = { name, options: ['true', 'false'], isRequired, property, type: 'boolean' };
    return html`<label class="field">${label}${select(choices)}${hint}</label>`;
  }
  if (property.type === 'boolean')
    return html`<label class="field check"><input type="checkbox" data-field="${name}" data-type="boolean" ${property.default === true ? 'checked' : ''}> ${title}${hint}</label>`;
  return html`<label class="field">${label}${control({ name, property, isRequired })}${hint}</label>`;
}

function control({ name, property, isRequired }: Field): Html {
  const options = stringsIn(property.enum);
  const { type } = property;
  if (options.length > 0 && (type === 'string' || type === undefined))
    return select({ name, options, isRequired, property, type: 'string' });
  const must = isRequired ? 'required' : '';
  const initial = initialText(property);
  const [example] = Array.isArray(property.examples) ? property.examples : [];
  const placeholder = typeof example === 'string' || typeof example === 'number' ? shown(example) : '';
  if (type === 'number' || type === 'integer')
    return html`<input type="number" data-field="${name}" data-type="number" step="${type === 'integer' ? '1' : 'any'}" min="${bound(property.minimum)}" max="${bound(property.maximum)}" value="${initial}" placeholder="${placeholder}" ${must}>`;
  if (type === 'string') {
    const isLong = typeof property.maxLength === 'number' ? property.maxLength > LINE_LENGTH : isForProse(name);
    const isDate = property.format === 'date';
    if (isLong)
      return html`<textarea data-field="${name}" data-type="string" rows="3" placeholder="${placeholder}" ${must}>${initial}</textarea>`;
    return html`<input type="${isDate ? 'date' : 'text'}" data-field="${name}" data-type="string" value="${initial}" placeholder="${placeholder}" ${must}>`;
  }
  const items = isRecord(property.items) ? property.items : {};
  if (type === 'array' && items.type === 'string')
    return html`<textarea data-field="${name}" data-type="lines" rows="3" placeholder="One per line" ${must}></textarea>`;
  return html`<textarea data-field="${name}" data-type="json" rows="3" placeholder="JSON" ${must}>${initial}</textarea>`;
}

function select({ name, options, isRequired, property, type }: Field & { options: string[]; type: string }): Html {
  const all = isRequired ? options : ['', ...options];
  return html`<select data-field="${name}" data-type="${type}">${all.map((option) => html`<option value="${option}" ${option === String(property.default ?? '') ? 'selected' : ''}>${option || '–'}</option>`)}</select>`;
}

function isForProse(name: string): boolean {
  return /^(message|text|content|prompt|question|body|description)$/i.test(name);
}

function bound(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

function initialText({ default: value }: Schema): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function shown(value: unknown): string {
  return cleanExcerpt(String(value), MAX_LENGTH);
}
