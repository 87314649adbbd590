// The client under test: a PocketAgentClient that does what each scenario of the conformance suite expects.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
  type Tool,
} from '@modelcontextprotocol/client';
import { fileOAuth, PocketAgentClient, type PocketAgentClientOptions } from 'pocket-agent';

interface Context {
  client_id?: string;
  client_secret?: string;
  issuer?: string;
  private_key_pem?: string;
  signing_algorithm?: string;
  idp_client_id?: string;
  idp_id_token?: string;
  idp_token_endpoint?: string;
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
}

type Auth = ReturnType<typeof fileOAuth> | OAuthClientProvider;

const SERVER = 'suite';
/** Long, because the suite starts forty clients at the same time. */
const CONNECT_TIMEOUT_MS = 90_000;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context: Context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const url = process.argv[2] ?? '';

function makeClient(options: PocketAgentClientOptions = {}, auth?: Auth): PocketAgentClient {
  return new PocketAgentClient({
    mcpConfig: { mcpServers: { [SERVER]: { url, connectTimeoutMs: CONNECT_TIMEOUT_MS, ...(auth ? { auth } : {}) } } },
    clientInfo: { name: 'pocket-agent-conformance', version: '1.0.0' },
    ...options,
  });
}

/** Makes arguments with a value for each required property. */
function argumentsFor({ properties = {}, required = [] }: Tool['inputSchema']): Record<string, unknown> {
  const examples: Record<string, unknown> = { number: 5, integer: 5, boolean: true, array: [], object: {} };
  const typeOf = (name: string) => {
    const property = properties[name];
    return typeof property === 'object' && property !== null && 'type' in property ? String(property.type) : 'string';
  };
  return Object.fromEntries(required.map((name) => [name, examples[typeOf(name)] ?? 'test']));
}

async function callEveryTool(client: PocketAgentClient): Promise<void> {
  for (const tool of await client.listTools()) await client.callTool(tool.name, argumentsFor(tool.inputSchema));
}

async function useTools(client: PocketAgentClient): Promise<void> {
  if (context.toolCalls) {
    for (const call of context.toolCalls) await client.callTool(call.name, call.arguments);
  } else {
    await callEveryTool(client);
  }
}

async function useEverything(client: PocketAgentClient): Promise<void> {
  await callEveryTool(client);
  for (const { uri } of await client.listResources()) await client.readResource(SERVER, uri);
  for (const { name } of await client.listPrompts()) await client.getPrompt(SERVER, name);
}

async function sendSchemaBack(client: PocketAgentClient): Promise<void> {
  const schema = await client.getToolInputFormat('json_schema_2020_12_tool');
  await client.callTool('json_schema_echo', { schema });
}

/** Acts as the user at the login page of the suite, who consents and follows the redirect. */
async function consent(authorizationUrl: URL): Promise<URL> {
  const response = await fetch(authorizationUrl, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (!location) throw new Error(`The login page answered ${response.status} without a redirect.`);
  return new URL(location, authorizationUrl);
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`MCP_CONFORMANCE_CONTEXT has no ${name}.`);
  return value;
}

function authFor(folder: string): Auth {
  const { client_id: clientId, client_secret: clientSecret } = context;
  switch (scenario) {
    case 'auth/client-credentials-basic':
      return new ClientCredentialsProvider({
        clientId: required(clientId, 'client_id'),
        clientSecret: required(clientSecret, 'client_secret'),
      });
    case 'auth/client-credentials-jwt':
      return new PrivateKeyJwtProvider({
        clientId: required(clientId, 'client_id'),
        privateKey: required(context.private_key_pem, 'private_key_pem'),
        algorithm: context.signing_algorithm ?? 'ES256',
      });
    case 'auth/enterprise-managed-authorization': {
      const idToken = required(context.idp_id_token, 'idp_id_token');
      const tokenEndpoint = required(context.idp_token_endpoint, 'idp_token_endpoint');
      const idpClientId = required(context.idp_client_id, 'idp_client_id');
      return new CrossAppAccessProvider({
        clientId: required(clientId, 'client_id'),
        clientSecret: required(clientSecret, 'client_secret'),
        assertion: async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
          const grant = await requestJwtAuthorizationGrant({
            tokenEndpoint,
            audience: authorizationServerUrl,
            resource: resourceUrl,
            idToken,
            clientId: idpClientId,
            ...(scope ? { scope } : {}),
            fetchFn,
          });
          return grant.jwtAuthGrant;
        },
      });
    }
    default:
      return fileOAuth({
        file: join(folder, 'tokens.json'),
        redirectUrl: 'http://localhost:3000/callback',
        clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
        authorize: consent,
        ...(clientId && clientSecret
          ? { clientInformation: { client_id: clientId, client_secret: clientSecret } }
          : {}),
      });
  }
}

async function useToolsLoggedIn(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pocket-conformance-'));
  const client = makeClient({}, authFor(folder));
  try {
    await useTools(client);
  } finally {
    await client.close();
    await rm(folder, { recursive: true });
  }
}

async function main(): Promise<void> {
  if (scenario.startsWith('auth/')) return useToolsLoggedIn();
  const client = makeClient({ elicitationHandler: () => ({ action: 'accept', content: {} }) });
  try {
    if (scenario === 'http-standard-headers') await useEverything(client);
    else if (scenario === 'json-schema-2020-12-preservation') await sendSchemaBack(client);
    else await useTools(client);
    const { status, reason } = client.status.get(SERVER) ?? { status: 'unknown' };
    if (status !== 'connected') throw new Error(`The server is ${status}: ${reason}`);
  } finally {
    await client.close();
  }
}

await main();
