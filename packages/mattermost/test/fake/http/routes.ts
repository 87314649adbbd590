// Maps paths to handlers.
import type { Call, Reply } from './call.ts';

export type Handler = (call: Call) => Reply | Promise<Reply>;

/** Handlers by "METHOD /path/{parameter}". */
export type Routes = Record<string, Handler>;

interface Route {
  method: string;
  parts: string[];
  handler: Handler;
  open: boolean;
}

export interface Match {
  handler: Handler;
  params: Record<string, string>;
  /** Whether the route works without a session. */
  open: boolean;
}

export class RouteTable {
  readonly #routes: Route[] = [];

  add(prefix: string, routes: Routes, { open = false }: { open?: boolean } = {}): void {
    for (const [key, handler] of Object.entries(routes)) {
      const [method = '', path = ''] = key.split(' ');
      this.#routes.push({ method, parts: `${prefix}${path}`.split('/'), handler, open });
    }
    // literal segments win over parameters: /channels/direct is not a channel id
    this.#routes.sort((a, b) => specificity(b) - specificity(a));
  }

  find(method: string, path: string): Match | undefined {
    const parts = path.split('/');
    for (const route of this.#routes) {
      if (route.method !== method || route.parts.length !== parts.length) continue;
      const params = matchParts(route.parts, parts);
      if (params) return { handler: route.handler, params, open: route.open };
    }
    return undefined;
  }
}

function specificity(route: Route): number {
  return route.parts.filter((part) => !part.startsWith('{')).length;
}

function matchParts(pattern: string[], parts: string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index] ?? '';
    if (wanted.startsWith('{')) {
      if (!part) return undefined;
      try {
        params[wanted.slice(1, -1)] = decodeURIComponent(part);
      } catch {
        return undefined;
      }
    } else if (wanted !== part) return undefined;
  }
  return params;
}
