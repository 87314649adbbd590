// Pocket Agent behind a gateway: the agent has only the gateway as a server; the gateway has the servers, profile and approvals.
import { codeMode } from '@pocket-agent/code-mode';
import { Gateway, openGatewayState } from '@pocket-agent/gateway';
import { PocketAgent, PocketAgentClient } from 'pocket-agent';
import { aiSdkModel } from '../contenders/ai-sdk-model.ts';
import { subject as direct } from './pocket-agent.ts';
import type { Subject } from './subject.ts';

const capabilities = ['read', 'write', 'create', 'delete'] as const;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const accepted = (content: Record<string, string | boolean>) => ({ action: 'accept' as const, content });

export const subject: Subject = {
  ...direct,
  async open({ servers, name, traceparent, refused, denied }) {
    const state = await openGatewayState(':memory:');
    const gateway = new Gateway({
      mcpServers: servers,
      names: Object.keys(servers).length === 1 ? 'plain' : 'prefixed',
      profiles: { tried: { capabilities, ...(refused ? { deny: [refused] } : {}) } },
      access: denied ? { confirm: 'always' } : {},
      state,
      logger: silent,
    });
    const { url } = await gateway.listen();
    const headers = { authorization: `Bearer ${await state.addCaller('agent', { profile: 'tried' })}` };
    const mcpClient = new PocketAgentClient({
      mcpConfig: { mcpServers: { gateway: { url, headers } } },
      elicitationHandler: ({ message }) => {
        const [, tool] = /wants to call "([^"]+)"/.exec(message) ?? [];
        if (tool === undefined) return accepted({ name });
        denied?.asked(tool);
        return accepted({ approve: tool !== denied?.tool });
      },
      logger: silent,
    });
    return {
      run: (script, signal) =>
        new PocketAgent({
          agentConfig: { llmModel: aiSdkModel(script) },
          mcpClient,
          ...(denied ? { exposure: 'code', tools: [codeMode()] } : {}),
          logger: silent,
        }).run('go', { traceparent, ...(signal ? { signal } : {}) }),
      async close() {
        await mcpClient.close();
        await gateway.close();
        await state.close();
      },
    };
  },
};
