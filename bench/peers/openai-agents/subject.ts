// The OpenAI Agents SDK with its own MCP servers.
import {
  Agent,
  connectMcpServers,
  MCPServerStdio,
  MCPServerStreamableHttp,
  run,
  setTracingDisabled,
} from '@openai/agents';
import type { Subject } from '../../behaviour/subject.ts';
import { scriptModel } from './model.ts';

setTracingDisabled(true);

export const subject: Subject = {
  async open({ servers, traceparent }) {
    const toolMetaResolver = () => ({ traceparent });
    const connected = await connectMcpServers(
      Object.entries(servers).map(([name, endpoint]) =>
        'url' in endpoint
          ? new MCPServerStreamableHttp({ name, url: endpoint.url, toolMetaResolver })
          : new MCPServerStdio({ name, command: endpoint.command, args: endpoint.args, toolMetaResolver }),
      ),
    );
    return {
      run(script, signal) {
        const agent = new Agent({ name: 'Subject', model: scriptModel(script), mcpServers: connected.active });
        return run(agent, 'go', signal ? { signal } : {});
      },
      close: () => connected.close(),
    };
  },
};
