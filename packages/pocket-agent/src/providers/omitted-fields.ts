// Top-level fields that are left out of the requests of a model because its server rejected them.
import type { LanguageModelV4 } from '@ai-sdk/provider';

const fieldsByModel = new WeakMap<LanguageModelV4, Set<string>>();

/** Registers the set of field names that the model leaves out. It may grow after each rejection. */
export function omitFields(model: LanguageModelV4, fields: Set<string>): void {
  fieldsByModel.set(model, fields);
}

/** Undefined for models that always send every field. */
export function omittedFields(model: LanguageModelV4): Set<string> | undefined {
  return fieldsByModel.get(model);
}
