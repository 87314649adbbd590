// The API reference page, generated from the OpenAPI description.
import { html } from 'hono/html';
import { openApi } from '../api/openapi.ts';
import type { Caller } from '../base/agent3.ts';
import { type Html, page } from './layout.ts';

interface Operation {
  method: string;
  path: string;
  summary: string;
  parameters: string[];
  needsToken: boolean;
}

export function apiPage(viewer: Caller | undefined): Html {
  return page({
    viewer,
    title: 'API · Agent3',
    content: html`
      <h1>API</h1>
      <p class="soft">JSON over HTTP, with an <a href="/openapi.json">OpenAPI description</a>. MCP clients connect to <code>/mcp</code>.</p>
      <pre>curl -H "Authorization: Bearer a3_…" -H "Content-Type: application/json" \\
  -d '{"agentId": "…", "message": "…"}' /api/calls</pre>
      <ul class="panel operations">${operations().map(operationItem)}</ul>
      <p class="soft"><code>agent3 token OWNER</code> creates an owner token. Reading requires one on private hubs only.</p>`,
  });
}

function operationItem({ method, path, summary, parameters, needsToken }: Operation): Html {
  return html`<li>
    <div class="row"><code>${method} ${path}</code>${needsToken ? html`<span class="badge plain">needs a token</span>` : ''}</div>
    <p>${summary}</p>
    ${parameters.length > 0 ? html`<p class="soft small">Parameters: ${parameters.join(', ')}</p>` : ''}
  </li>`;
}

function operations(): Operation[] {
  const { paths } = openApi() as { paths: Record<string, Record<string, OpenApiOperation>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, parameters = [], security }]) => ({
      method: method.toUpperCase(),
      path,
      summary,
      parameters: parameters.map(({ name }) => name),
      needsToken: security === undefined || security.every((one) => 'owner' in one),
    })),
  );
}

interface OpenApiOperation {
  summary: string;
  parameters?: { name: string }[];
  /** Default: the security of the whole API. */
  security?: object[];
}
