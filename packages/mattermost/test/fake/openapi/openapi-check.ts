// Checks recorded requests against the OpenAPI description of Mattermost.
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { isFields } from '../http/call.ts';
import type { RecordedRequest } from '../http/http-core.ts';
import { excused } from './openapi-exceptions.ts';

type CheckedRequest = Pick<RecordedRequest, 'method' | 'path' | 'query' | 'headers' | 'json' | 'bytes'>;

interface Operation {
  method: string;
  template: string;
  pattern: RegExp;
  query: Map<string, { type: unknown; required: boolean }>;
  /** Content types of the body; undefined if not described. */
  bodyTypes: string[] | undefined;
  bodyRequired: boolean;
  /** Top-level field names of a JSON body; undefined if any name is allowed. */
  names: Set<string> | undefined;
  validate: ValidateFunction | undefined;
}

/** Returns one sentence per violation. */
export function checkAgainstOpenApi(requests: CheckedRequest[], yamlText: string): string[] {
  const operations = operationsOf(yamlText);
  const violations = new Set<string>();
  for (const request of requests) {
    if (excused({ method: request.method, template: request.path, what: 'path', name: '' })) continue;
    const fitting = operations.filter(({ pattern }) => pattern.test(request.path));
    const operation = fitting
      .filter(({ method }) => method === request.method)
      .sort((a, b) => parameters(a.template) - parameters(b.template))[0];
    if (!operation) {
      const methods = fitting.map(({ method }) => method).join(', ');
      violations.add(
        `${request.method} ${request.path}: ${methods ? `described for ${methods} only` : 'no such path is described'}`,
      );
      continue;
    }
    for (const problem of [...queryProblems(request, operation), ...bodyProblems(request, operation)]) {
      violations.add(`${operation.method} ${operation.template}: ${problem}`);
    }
  }
  return [...violations];
}

function parameters(template: string): number {
  return template.split('{').length;
}

function queryProblems({ query }: CheckedRequest, operation: Operation): string[] {
  const problems: string[] = [];
  const { method, template } = operation;
  for (const [name, value] of Object.entries(query)) {
    const known = operation.query.get(name);
    if (!known) {
      if (!excused({ method, template, what: 'query', name })) problems.push(`query "${name}" is not described`);
    } else if (!fits(value, known.type)) problems.push(`query ${name}=${value} is no ${String(known.type)}`);
  }
  for (const [name, { required }] of operation.query) {
    if (required && !(name in query) && !excused({ method, template, what: 'query', name })) {
      problems.push(`query "${name}" is missing`);
    }
  }
  return problems;
}

function fits(value: string, type: unknown): boolean {
  if (type === 'integer') return /^-?\d+$/.test(value);
  if (type === 'number') return value !== '' && Number.isFinite(Number(value));
  if (type === 'boolean') return value === 'true' || value === 'false';
  return true;
}

function bodyProblems(request: CheckedRequest, operation: Operation): string[] {
  const { method, template, bodyTypes } = operation;
  if (request.bytes === 0) return operation.bodyRequired ? ['the body is missing'] : [];
  if (!bodyTypes) return excused({ method, template, what: 'body', name: '' }) ? [] : ['a body is not described'];
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (!bodyTypes.includes(type)) {
    const allowed = excused({ method, template, what: 'content type', name: type });
    return allowed ? [] : [`content type "${type}" is not among ${bodyTypes.join(', ')}`];
  }
  if (type !== 'application/json') return [];
  const { json } = request;
  const excusedNames = new Set(
    Object.keys(isFields(json) ? json : {}).filter((name) => excused({ method, template, what: 'body', name })),
  );
  const body = isFields(json)
    ? Object.fromEntries(Object.entries(json).filter(([name]) => !excusedNames.has(name)))
    : json;
  const unknown =
    isFields(body) && operation.names ? Object.keys(body).filter((name) => !operation.names?.has(name)) : [];
  const problems = unknown.map((name) => `body field "${name}" is not described`);
  if (operation.validate && !operation.validate(body)) {
    for (const error of operation.validate.errors ?? []) problems.push(`body${error.instancePath} ${error.message}`);
  }
  return problems;
}

const known = new Map<string, Operation[]>();

/** Cached, because the description has a megabyte. */
function operationsOf(yamlText: string): Operation[] {
  const before = known.get(yamlText);
  if (before) return before;
  const document: unknown = parse(yamlText);
  if (!isFields(document) || !isFields(document.paths))
    throw new Error('This is not an OpenAPI description: it has no paths.');
  const ajv = new Ajv({ strict: false, validateSchema: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, 'openapi');
  const operations: Operation[] = [];
  for (const [template, item] of Object.entries(document.paths)) {
    if (!isFields(item)) continue;
    for (const [method, operation] of Object.entries(item)) {
      if (isFields(operation)) operations.push(operationOf({ ajv, document, template, method, operation }));
    }
  }
  known.set(yamlText, operations);
  return operations;
}

function operationOf(parts: {
  ajv: Ajv;
  document: Record<string, unknown>;
  template: string;
  method: string;
  operation: Record<string, unknown>;
}): Operation {
  const { ajv, document, template, method, operation } = parts;
  const query: Operation['query'] = new Map();
  for (const parameter of Array.isArray(operation.parameters) ? operation.parameters : []) {
    if (!isFields(parameter) || parameter.in !== 'query') continue;
    const type = isFields(parameter.schema) ? parameter.schema.type : undefined;
    query.set(String(parameter.name), { type, required: parameter.required === true });
  }
  const body = isFields(operation.requestBody) ? operation.requestBody : undefined;
  const content = body && isFields(body.content) ? body.content : undefined;
  const json = isFields(content?.['application/json']) ? content['application/json'].schema : undefined;
  const place = ['paths', template, method, 'requestBody', 'content', 'application/json', 'schema']
    .map(escaped)
    .join('/');
  let compiled: ValidateFunction | undefined;
  return {
    method: method.toUpperCase(),
    template,
    pattern: new RegExp(`^${template.replace(/[.+*?^$()[\]|\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`),
    query,
    bodyTypes: content && Object.keys(content),
    bodyRequired: body?.required === true,
    names: namesOf(document, json),
    // compiled on first use, because a test run needs only a few of 500
    get validate() {
      if (json !== undefined) compiled ??= ajv.compile({ $ref: `openapi#/${place}` });
      return compiled;
    },
  };
}

function namesOf(document: Record<string, unknown>, schema: unknown): Set<string> | undefined {
  if (!isFields(schema)) return undefined;
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
  if (name) {
    const { components } = document;
    return isFields(components) && isFields(components.schemas)
      ? namesOf(document, components.schemas[name])
      : undefined;
  }
  return isFields(schema.properties) ? new Set(Object.keys(schema.properties)) : undefined;
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
