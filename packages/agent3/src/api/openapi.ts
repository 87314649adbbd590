// The OpenAPI description of the API, generated from the schemas of requests and responses.

import { VERSION } from '@pocket-agent/kit';
import { z } from 'zod';
import { account, allowance, newToken, statement, statementRequest, tokenRequest } from '../base/account.ts';
import { hubHealth } from '../base/agent3.ts';
import { agentDetails, claimResult, invocation, listing, reportList, searchPage } from '../base/agents.ts';
import { callLog, callLogEntry, feedbackResult, statistics } from '../base/call-records.ts';
import { callLine, callResponse, failure } from '../base/calls.ts';
import {
  callLogRequest,
  callRequest,
  credentialsRequest,
  listingRequest,
  moderationRequest,
  ratingRequest,
  registerRequest,
  reportRequest,
  searchRequest,
  statisticsRequest,
  taskRequest,
} from '../base/requests.ts';
import { LINES } from './call-lines.ts';

type Json = Record<string, unknown>;

const requestSchemas = {
  callRequest,
  ratingRequest,
  registerRequest,
  taskRequest,
  credentialsRequest,
  reportRequest,
  moderationRequest,
  allowance,
  tokenRequest,
};
const responseSchemas = {
  account,
  statement,
  newToken,
  claimResult,
  reportList,
  listing,
  callLogEntry,
  searchPage,
  agentDetails,
  invocation,
  callResponse,
  callLine,
  callLog,
  feedbackResult,
  statistics,
  hubHealth,
  failure,
};

let cached: Json | undefined;

export function openApi(): Json {
  cached ??= describe();
  return cached;
}

function describe(): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent3',
      version: VERSION,
      description: 'Find, call and rate A2A agents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    security: ownerOnly,
    paths: {
      ...agentPaths(),
      ...exchangePaths(),
      ...trustPaths(),
      ...callPaths(),
      ...accountPaths(),
      ...statusPaths(),
      ...pushPath(),
    },
    components: {
      schemas: {
        ...Object.fromEntries(
          Object.entries(requestSchemas).map(([name, schema]) => [name, jsonSchema(schema, 'input')]),
        ),
        ...Object.fromEntries(
          Object.entries(responseSchemas).map(([name, schema]) => [name, jsonSchema(schema, 'output')]),
        ),
      },
      securitySchemes: {
        owner: { type: 'http', scheme: 'bearer', description: 'An owner token, from `agent3 token OWNER`' },
      },
    },
  };
}

const ownerOnly = [{ owner: [] }];
const agentParameter = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: 'The id of an agent',
};

function trustPaths(): Json {
  const parameters = [agentParameter];
  return {
    '/api/agents/{id}/claim': {
      post: {
        operationId: 'claim',
        summary: 'Prove that an agent is yours, or find out what would prove it',
        parameters,
        responses: responses('claimResult'),
      },
    },
    '/api/agents/{id}/credentials': {
      put: change('setCredentials', 'Replace the credentials that calls to your agent send', {
        body: 'credentialsRequest',
        parameters,
      }),
    },
    '/api/agents/{id}/reports': {
      post: change('report', 'Report an agent to the admins of the hub', { body: 'reportRequest', parameters }),
    },
    '/api/agents/{id}/moderation': {
      put: change('moderate', 'Hide an agent or show it again (admins)', { body: 'moderationRequest', parameters }),
    },
    '/api/reports': { get: ownRead('reports', 'List reported and hidden agents (admins)', 'reportList') },
  };
}

function exchangePaths(): Json {
  const parameters = queryOf(listingRequest.shape);
  const document = (operationId: string, summary: string) => ({
    operationId,
    summary,
    security: [{}, { owner: [] }],
    responses: {
      '200': { description: 'The document', content: { 'application/json': { schema: { type: 'object' } } } },
      default: errorResponse(),
    },
  });
  return {
    '/api/listing': { get: read('list', 'List all agents with their cards', { answer: 'listing', parameters }) },
    '/api/catalog': { get: { ...document('catalog', 'All agents as an AI catalog'), parameters } },
    '/v0.1/servers': {
      get: { ...document('servers', 'MCP servers, as the MCP registry lists them'), parameters },
    },
    '/api/agents/{id}/mcp': {
      get: {
        ...document('mcpServers', 'An MCP server as mcpServers of a gateway or client'),
        parameters: [agentParameter],
      },
    },
  };
}

function accountPaths(): Json {
  const pathParameter = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string' } });
  return {
    '/api/account': { get: ownRead('account', 'Show your limits, spending, tokens and agents', 'account') },
    '/api/account/limits': {
      put: change('setLimits', 'Agree to what your calls may cost', { body: 'allowance', parameters: [] }),
    },
    '/api/account/tokens': {
      post: write('addToken', 'Create a named token, which you can revoke', {
        body: 'tokenRequest',
        answer: 'newToken',
        status: '201',
      }),
    },
    '/api/account/tokens/{id}': {
      delete: {
        operationId: 'revokeToken',
        summary: 'Revoke a named token',
        parameters: [pathParameter('id')],
        responses: nothing('The token was revoked'),
      },
    },
    '/api/statement': {
      get: {
        ...ownRead('statement', 'List what you paid in a month, with receipts', 'statement'),
        parameters: queryOf(statementRequest.shape),
      },
    },
    '/api/receipts/{receipt}': {
      get: {
        ...ownRead('receipt', 'Show the call that a receipt proves', 'callLogEntry'),
        parameters: [pathParameter('receipt')],
      },
    },
  };
}

function nothing(description: string): Json {
  return { '204': { description }, default: errorResponse() };
}

/** An operation that answers with nothing. */
function change(
  operationId: string,
  summary: string,
  { body, parameters }: { body: keyof typeof requestSchemas; parameters: Json[] },
): Json {
  const requestBody = { required: true, content: { 'application/json': { schema: schemaRef(body) } } };
  return { operationId, summary, parameters, requestBody, responses: nothing('Done') };
}

/** Reads something of the owner's, so the token is required. */
function ownRead(operationId: string, summary: string, answer: keyof typeof responseSchemas): Json {
  return { operationId, summary, responses: responses(answer) };
}

function agentPaths(): Json {
  const id = agentParameter;
  const { filters, ...rest } = searchRequest.shape;
  return {
    '/api/agents': {
      get: read('search', 'Find agents', {
        answer: 'searchPage',
        parameters: queryOf({ ...rest, ...filters.unwrap().shape }),
      }),
      post: write('register', 'Add an agent, or change it', {
        body: 'registerRequest',
        answer: 'agentDetails',
        status: '201',
      }),
    },
    '/api/agents/{id}': {
      get: read('select', 'Show an agent', { answer: 'agentDetails', parameters: [id] }),
      delete: {
        operationId: 'unregister',
        summary: 'Remove an agent',
        parameters: [id],
        responses: nothing('The agent was removed'),
      },
    },
    '/api/agents/{id}/card': {
      get: read('invoke', "Show an agent's card and the authentication a call needs", {
        answer: 'invocation',
        parameters: [id],
      }),
    },
  };
}

function callPaths(): Json {
  const list = read('calls', 'List your calls, newest first; all calls for an admin', {
    answer: 'callLog',
    parameters: queryOf(callLogRequest.shape),
  });
  return {
    '/api/calls': {
      get: { ...list, security: ownerOnly },
      post: write('call', 'Call an agent; a failed call is a response with an errorCode', {
        body: 'callRequest',
        answer: 'callResponse',
        lines: 'callLine',
      }),
    },
    '/api/tasks': {
      post: write('task', 'Get, wait for, reply to or cancel a task', {
        body: 'taskRequest',
        answer: 'callResponse',
        lines: 'callLine',
      }),
    },
    '/api/feedback': {
      post: write('feedback', 'Rate a call by its receipt', { body: 'ratingRequest', answer: 'feedbackResult' }),
    },
  };
}

function statusPaths(): Json {
  return {
    '/api/statistics': {
      get: read('statistics', 'Calls over time', {
        answer: 'statistics',
        parameters: queryOf(statisticsRequest.shape),
      }),
    },
    '/api/health': { get: read('health', 'Health of the hub', { answer: 'hubHealth', parameters: [] }) },
  };
}

function pushPath(): Json {
  const handle = { name: 'handle', in: 'path', required: true, schema: { type: 'string' } };
  return {
    '/api/push/{handle}': {
      post: {
        operationId: 'push',
        summary: 'Receive a push notification of an agent, with the token of the task',
        security: [],
        parameters: [handle],
        requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
        responses: { '204': { description: 'Accepted' }, default: { description: 'Refused' } },
      },
    },
  };
}

interface ReadOperation {
  answer: keyof typeof responseSchemas;
  parameters: Json[];
}

function read(operationId: string, summary: string, { answer, parameters }: ReadOperation): Json {
  // the empty requirement makes the token optional; private hubs need it
  return { operationId, summary, security: [{}, { owner: [] }], parameters, responses: responses(answer) };
}

interface WriteOperation {
  body: keyof typeof requestSchemas;
  answer: keyof typeof responseSchemas;
  lines?: keyof typeof responseSchemas;
  status?: string;
}

function write(operationId: string, summary: string, { body, answer, lines, status }: WriteOperation): Json {
  return {
    operationId,
    summary,
    requestBody: { required: true, content: { 'application/json': { schema: schemaRef(body) } } },
    responses: responses(answer, { lines, status }),
  };
}

function responses(
  answer: keyof typeof responseSchemas,
  { lines, status = '200' }: Partial<WriteOperation> = {},
): Json {
  const content = {
    'application/json': { schema: schemaRef(answer) },
    ...(lines ? { [LINES]: { schema: schemaRef(lines) } } : {}),
  };
  return { [status]: { description: 'The response', content }, default: errorResponse() };
}

function errorResponse(): Json {
  return { description: 'The error', content: { 'application/json': { schema: schemaRef('failure') } } };
}

function schemaRef(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Lists are written `a,b`. */
function queryOf(shape: Record<string, z.ZodType>): Json[] {
  return Object.entries(shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: name === 'query',
    explode: false,
    schema: jsonSchema(schema, 'input'),
  }));
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
