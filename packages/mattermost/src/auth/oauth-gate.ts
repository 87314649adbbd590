// The auth mode oauth_proxy: an OAuth 2.1 server for MCP clients whose users log in at Mattermost.
import { OAuthError, OAuthErrorCode, verifyBearerToken } from '@modelcontextprotocol/server';
import { isMattermostError } from '../base/errors.ts';
import { ExpiringMap } from '../base/expiring-map.ts';
import type { OAuthConfig } from '../config/config.ts';
import { createTokenCheck, type Gate, type GateOptions, unauthorized, unavailable } from './auth.ts';
import { Clients } from './clients.ts';
import { Grants } from './grants.ts';
import { CONSENT_PATH, type CodeGrant, Login } from './login.ts';
import { RedirectUris } from './redirect-uris.ts';
import { readJson } from './request-form.ts';
import { TokenCipher } from './token-cipher.ts';
import { TokenEndpoint } from './token-endpoint.ts';
import { Upstream } from './upstream.ts';

const CODE_TTL_MS = 60_000;
const MAX_CODES = 1000;
const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server';
const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource';

type Route = (request: Request) => Promise<Response> | Response;

export function createOAuthGate(oauth: OAuthConfig, options: GateOptions): Gate {
  const { config, pool, log, signal } = options;
  const issuer = oauth.mcpPublicUrl;
  const resource = `${issuer}/mcp`;
  const cipher = new TokenCipher(oauth.jwtSigningKey ?? oauth.clientSecret ?? '');
  const clients = new Clients(cipher, new RedirectUris(oauth.allowedRedirectUris));
  const grants = new Grants(cipher);
  const upstream = new Upstream({ oauth, pool, timeoutMs: config.timeoutMs, signal });
  const codes = new ExpiringMap<CodeGrant>({ maxEntries: MAX_CODES, ttlMs: CODE_TTL_MS });
  const login = new Login({ oauth, clients, upstream, codes, resource, log });
  const tokens = new TokenEndpoint({ config, pool, log, signal, clients, grants, upstream, codes, resource });
  const check = createTokenCheck(options);
  const { origin, pathname } = new URL(resource);
  const resourceMetadataUrl = `${origin}${PROTECTED_RESOURCE}${pathname}`;

  const routes = oauthRoutes({ oauth, resource, clients, login, tokens });

  const verifyAccessToken = async (token: string) => {
    const { accessToken, expiresAt } = grants.read('access', token);
    // the client id is the user, so that users of the same program cannot use each other's sessions
    const clientId = await check(accessToken);
    return { token, clientId, scopes: [], expiresAt, extra: { mattermostToken: accessToken } };
  };

  return {
    async authorize(request) {
      try {
        const header = request.headers.get('authorization');
        return await verifyBearerToken(header, { verifier: { verifyAccessToken } });
      } catch (error) {
        return unauthorized(error, { resourceMetadataUrl });
      }
    },
    async routes(request) {
      const route = routes.get(`${request.method} ${new URL(request.url).pathname}`);
      try {
        return await route?.(request);
      } catch (error) {
        if (OAuthError.isInstance(error)) return noStore({ ...error.toResponseObject() }, statusOf(error));
        if (isMattermostError(error)) return unavailable();
        throw error;
      }
    },
  };
}

interface Endpoints {
  oauth: OAuthConfig;
  resource: string;
  clients: Clients;
  login: Login;
  tokens: TokenEndpoint;
}

function oauthRoutes({ oauth, resource, clients, login, tokens }: Endpoints): ReadonlyMap<string, Route> {
  const issuer = oauth.mcpPublicUrl;
  const serverMetadata = () => Response.json(metadataOf(issuer));
  const resourceMetadata = () =>
    Response.json({
      resource,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Mattermost',
    });
  // a well-known URL ends with the path of the public URL (RFC 8414, RFC 9728)
  const { pathname } = new URL(resource);
  return new Map<string, Route>([
    [`GET ${AUTHORIZATION_SERVER}`, serverMetadata],
    [`GET ${AUTHORIZATION_SERVER}${pathname.replace(/\/mcp$/, '')}`, serverMetadata],
    [`GET ${PROTECTED_RESOURCE}`, resourceMetadata],
    [`GET ${PROTECTED_RESOURCE}${pathname}`, resourceMetadata],
    [`GET ${PROTECTED_RESOURCE}/mcp`, resourceMetadata],
    ['POST /register', async (request) => noStore(clients.register(await readJson(request)), 201)],
    ['GET /authorize', (request) => login.authorize(request)],
    [`POST ${CONSENT_PATH}`, (request) => login.consent(request)],
    [`GET ${oauth.callbackPath}`, (request) => login.callback(request)],
    ['POST /token', async (request) => noStore(await tokens.token(request))],
    ['POST /revoke', async (request) => tokens.revoke(request).then(() => noStore({}))],
  ]);
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  };
}

function statusOf({ code }: OAuthError): number {
  return code === OAuthErrorCode.InvalidClient ? 401 : 400;
}

function noStore(body: Record<string, unknown>, status = 200): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}
