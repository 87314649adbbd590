// The least that calls over HTTP can be: one POST each over kept connections, and nothing looked at but the answer.
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Connection } from './contender.ts';

const agent = new Agent({ keepAlive: true });

/** The path of the address tells the era. */
export async function barePosts(url: string): Promise<Connection> {
  const isModern = url.endsWith('/2026');
  const headers = isModern ? modernHeaders : await openSession(url);
  const params = isModern ? { name: 'add', _meta: modernMeta } : { name: 'add' };
  let id = 0;
  return {
    async call(a, b) {
      const message = { id: ++id, method: 'tools/call', params: { ...params, arguments: { a, b } } };
      const answer = await post(url, headers, message);
      return /"text":"([^"]*)"/.exec(answer.body)?.[1] ?? answer.body;
    },
    close: async () => agent.destroy(),
  };
}

const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'add' };
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

async function openSession(url: string): Promise<Record<string, string>> {
  const version = { 'mcp-protocol-version': '2025-11-25' };
  const clientInfo = { name: 'bench', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const { session } = await post(url, {}, { id: 0, method: 'initialize', params });
  const headers = { ...version, 'mcp-session-id': session };
  await post(url, headers, { method: 'notifications/initialized' });
  return headers;
}

function post(
  url: string,
  headers: Record<string, string>,
  message: object,
): Promise<{ body: string; session: string }> {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: 'POST',
      agent,
      headers: { ...types, 'content-length': Buffer.byteLength(body), ...headers },
    });
    asked.on('error', reject).on('response', (response) => {
      const session = String(response.headers['mcp-session-id']);
      text(response).then((answer) => resolve({ body: answer, session }), reject);
    });
    asked.end(body);
  });
}
