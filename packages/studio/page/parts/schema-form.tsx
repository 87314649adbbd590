// A field for each property of a JSON Schema.
import type { VNode } from 'preact';
import { type Field, typedIn, type Values } from './schema-fields.ts';

interface SchemaFormProps {
  /** Makes the ids of the fields unique. */
  id: string;
  fields: readonly Field[];
  values: Values;
  onChange(values: Values): void;
}

export function SchemaForm({ id, fields, values, onChange }: SchemaFormProps): VNode {
  return (
    <>
      {fields.map((field) => (
        <label key={field.name} for={`${id} ${field.name}`}>
          <span>
            {field.title}
            {field.isRequired && ' *'} <span class="soft">{field.type}</span>
          </span>
          <Input
            id={`${id} ${field.name}`}
            field={field}
            value={typedIn(values, field.name)}
            onChange={(value) => onChange({ ...values, [field.name]: value })}
          />
          {field.description && <span class="soft">{field.description}</span>}
        </label>
      ))}
    </>
  );
}

interface InputProps {
  id: string;
  field: Field;
  value: string;
  onChange(value: string): void;
}

function Input({ id, field: { choices, isMultiple }, value, onChange }: InputProps): VNode {
  if (!choices)
    return <input id={id} value={value} spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />;
  const chosen = isMultiple ? listIn(value) : [value];
  return (
    <select
      id={id}
      multiple={isMultiple}
      onChange={({ currentTarget: { selectedOptions } }) => {
        const selected = [...selectedOptions].map((option) => option.value);
        onChange(isMultiple ? JSON.stringify(selected) : (selected[0] ?? ''));
      }}
    >
      {!isMultiple && <option value="" />}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value} selected={chosen.includes(choice.value)}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

function listIn(text: string): string[] {
  return text === '' ? [] : JSON.parse(text);
}
