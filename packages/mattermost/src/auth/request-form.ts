// Reads the bodies of unauthenticated requests: small forms or small JSON.
import { OAuthError, OAuthErrorCode, readRequestBody } from '@modelcontextprotocol/server';

const MAX_BODY_BYTES = 64_000;

export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') throw invalid('The body must be a form');
  return new URLSearchParams(await readText(request));
}

export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('The body must be JSON');
  }
}

async function readText(request: Request): Promise<string> {
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  if (body.tooLarge) throw invalid('The body is too large');
  return body.text;
}

function invalid(text: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidRequest, text);
}
