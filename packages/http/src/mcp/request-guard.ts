// Refuses requests that a web page or another host name sends: a page may make a browser call servers of its user.
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';

export interface GuardOptions {
  /** The names of this machine are allowed, and these. */
  ownHosts?: readonly string[];
  /** Accepted values of the Host header, in place of the default. */
  allowedHosts?: readonly string[] | undefined;
  /** Host names of web pages that may call. Default: the names of this machine. */
  allowedOrigins?: readonly string[] | undefined;
}

/** Returns the response that refuses a request; undefined if it may pass. */
export function requestGuard(options: GuardOptions): (request: Request) => Response | undefined {
  const hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), ...(options.ownHosts ?? [])])];
  const origins = [...(options.allowedOrigins ?? localhostAllowedOrigins())];
  return ({ headers, url }) => {
    // a Request object created in this process has no Host header
    const asHost = validateHostHeader(headers.get('host') ?? new URL(url).host, hosts);
    if (!asHost.ok) return forbidden(asHost.message, 'allowedHosts');
    const asOrigin = validateOriginHeader(headers.get('origin'), origins);
    return asOrigin.ok ? undefined : forbidden(asOrigin.message, 'allowedOrigins');
  };
}

function forbidden(reason: string, option: string): Response {
  const error = { code: -32_000, message: `${reason} (not in ${option})` };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 403 });
}
