// What is wrong with a value, by a JSON Schema.
import type { JsonSchemaType } from '@modelcontextprotocol/client';

/** Loads what checks: undefined for a value that fits. Throws for a schema that is none. */
export async function jsonSchemaCheck(schema: object): Promise<(value: unknown) => string | undefined> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  const validate = new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
  return (value) => {
    const result = validate(value);
    return result.valid ? undefined : result.errorMessage;
  };
}
