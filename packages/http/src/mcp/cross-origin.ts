// CORS headers, for web pages whose origin was already checked.

const READABLE = 'mcp-session-id, mcp-protocol-version, www-authenticate, retry-after';
const DAY_S = 86_400;

/** The response to a preflight request; undefined for any other request. */
export function answerPreflight(request: Request): Response | undefined {
  const method = request.headers.get('access-control-request-method');
  if (request.method !== 'OPTIONS' || method === null) return undefined;
  return withCorsHeaders(
    request,
    new Response(null, {
      status: 204,
      headers: {
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? '',
        'access-control-max-age': String(DAY_S),
      },
    }),
  );
}

export function withCorsHeaders(request: Request, response: Response): Response {
  const origin = request.headers.get('origin');
  if (origin === null) return response;
  const headers = new Headers(response.headers);
  headers.set('access-control-allow-origin', origin);
  headers.set('access-control-expose-headers', READABLE);
  headers.append('vary', 'Origin');
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}
