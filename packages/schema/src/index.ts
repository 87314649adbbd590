// Everything that other packages use of JSON Schemas.
export {
  checkForeign,
  checkGuarded,
  checkHere,
  type ForeignCheck,
  schemaFault,
  type Verdict,
} from './foreign-schema.ts';
export { type ArgumentCheck, compileSchema } from './json-schema.ts';
export { ownArguments, type RepairedSchema, repairSchema } from './provider-schema.ts';
export { isSchema, resolveReference, type Schema } from './references.ts';
export { schemaMistake } from './schema-mistake.ts';
export { strictSchema } from './strict-schema.ts';
