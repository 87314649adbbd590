// Pocket Agent.
import { PocketAgent, PocketAgentClient } from 'pocket-agent';
import { aiSdkModel } from '../contenders/ai-sdk-model.ts';
import type { Subject } from './subject.ts';

const capabilities = ['read', 'write', 'create', 'delete'] as const;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

export const subject: Subject = {
  search: (query, tool) => [[{ tool: 'find_tools', args: { query } }], [{ tool }]],
  async open({ servers, name, traceparent, refused }) {
    const mcpClient = new PocketAgentClient({
      mcpConfig: { mcpServers: servers },
      elicitationHandler: () => ({ action: 'accept', content: { name } }),
      logger: silent,
    });
    return {
      run: (script, signal) =>
        new PocketAgent({
          agentConfig: { llmModel: aiSdkModel(script) },
          mcpClient,
          ...(refused ? { access: { profile: { capabilities, deny: [refused] } } } : {}),
          logger: silent,
        }).run('go', {
          traceparent,
          ...(signal ? { signal } : {}),
        }),
      close: () => mcpClient.close(),
    };
  },
};
