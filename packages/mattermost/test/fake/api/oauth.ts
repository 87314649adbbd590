// Mattermost as an OAuth 2 provider with automatic consent.
import { createHash } from 'node:crypto';
import { type Call, ok, type Reply } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError } from '../world/api-error.ts';

export interface OAuthApp {
  clientId: string;
  /** Empty for a public client, which must use PKCE and gets no refresh token. */
  clientSecret: string;
  /** Allowed redirect URIs; empty allows any. */
  redirectUris: string[];
  /** Announced lifetime in seconds; tokens only end when revoked. */
  expiresIn: number;
  /** The user who consents. */
  user: string;
  /** Whether the user denies access. */
  denies?: boolean;
}

interface Grant {
  userId: string;
  redirectUri: string;
  challenge: string;
}

function refuse(id: string, message: string, status = 400): ApiError {
  return new ApiError(status, `api.oauth.${id}.app_error`, { message });
}

export function oauthRoutes(app: OAuthApp): Routes {
  const codes = new Map<string, Grant>();
  const refreshTokens = new Map<string, { userId: string; accessToken: string }>();

  function authorize(call: Call): Reply {
    const asked = (name: string) => call.query.get(name) ?? '';
    if (asked('response_type') !== 'code') throw refuse('allow_oauth.bad_response', 'Unsupported response_type.');
    if (asked('client_id') !== app.clientId) throw refuse('get_app.find', 'Unable to find the requested app.', 404);
    const redirectUri = asked('redirect_uri');
    const anywhere = app.redirectUris.length === 0;
    if (!URL.canParse(redirectUri) || !(anywhere || app.redirectUris.includes(redirectUri))) {
      throw refuse('allow_oauth.redirect_callback', 'The redirect_uri does not match the registered callback URL.');
    }
    refuseResource(asked('resource'));
    const challenge = asked('code_challenge');
    if (challenge && asked('code_challenge_method') !== 'S256') {
      throw refuse('allow_oauth.pkce_method', 'Only the code_challenge_method S256 is supported.');
    }
    if (!app.clientSecret && !challenge) throw refuse('allow_oauth.pkce_required_public', 'PKCE is required.');
    const user = [...call.world.users.values()].find(({ username }) => username === app.user);
    const back = new URL(redirectUri);
    if (asked('state')) back.searchParams.set('state', asked('state'));
    if (app.denies || !user) back.searchParams.set('error', 'access_denied');
    else {
      const code = call.world.newId();
      codes.set(code, { userId: user.id, redirectUri, challenge });
      back.searchParams.set('code', code);
    }
    return { status: 302, body: '', headers: { Location: back.href } };
  }

  function token(call: Call): Reply {
    const form = new URLSearchParams(call.body.toString());
    const given = (name: string) => form.get(name) ?? '';
    if (given('client_id') !== app.clientId) throw refuse('get_access_token.bad_client_id', 'Bad client id.');
    refuseResource(given('resource'));
    if (given('client_secret') !== app.clientSecret) {
      throw refuse('get_access_token.bad_client_secret', 'invalid_client: Invalid client credentials.', 403);
    }
    if (given('grant_type') === 'authorization_code') return fromCode(call, given);
    if (given('grant_type') === 'refresh_token') return fromRefreshToken(call, given('refresh_token'));
    throw refuse('get_access_token.bad_grant', 'unsupported_grant_type: Bad grant_type.');
  }

  function fromCode(call: Call, given: (name: string) => string): Reply {
    const grant = codes.get(given('code'));
    codes.delete(given('code'));
    if (!grant) throw refuse('get_access_token.expired_code', 'invalid_grant: Invalid or expired authorization code.');
    if (grant.redirectUri !== given('redirect_uri')) {
      throw refuse('get_access_token.redirect_uri', 'invalid_request: Supplied redirect_uri does not match.');
    }
    const verifier = createHash('sha256').update(given('code_verifier')).digest('base64url');
    if (grant.challenge && grant.challenge !== verifier) {
      throw refuse('get_access_token.bad_code_verifier', 'invalid_grant: The code_verifier does not fit.');
    }
    return issue(call, grant.userId);
  }

  /** Also invalidates the old access token. */
  function fromRefreshToken(call: Call, refreshToken: string): Reply {
    const known = refreshTokens.get(refreshToken);
    if (!known) throw refuse('get_access_token.refresh_token', 'invalid_grant: Invalid refresh token.', 404);
    refreshTokens.delete(refreshToken);
    call.world.tokens.delete(known.accessToken);
    return issue(call, known.userId);
  }

  function issue(call: Call, userId: string): Reply {
    const accessToken = call.world.newId();
    call.world.tokens.set(accessToken, userId);
    const answer = { access_token: accessToken, token_type: 'bearer', expires_in: app.expiresIn, scope: 'user' };
    if (!app.clientSecret) return ok(answer);
    const refreshToken = call.world.newId();
    refreshTokens.set(refreshToken, { userId, accessToken });
    return ok({ ...answer, refresh_token: refreshToken });
  }

  return { 'GET /oauth/authorize': authorize, 'POST /oauth/access_token': token };
}

/** Supported servers do not know RFC 8707. */
function refuseResource(resource: string): void {
  if (resource) throw refuse('invalid_resource', 'The resource parameter is not supported.');
}
