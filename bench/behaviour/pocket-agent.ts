// Pocket Agent.
import { PocketAgent, PocketAgentClient } from 'pocket-agent';
import { aiSdkModel } from '../contenders/ai-sdk-model.ts';
import type { Subject } from './subject.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

export const subject: Subject = {
  async open({ servers, name, traceparent }) {
    const mcpClient = new PocketAgentClient({
      mcpConfig: { mcpServers: servers },
      elicitationHandler: () => ({ action: 'accept', content: { name } }),
      logger: silent,
    });
    return {
      run: (script, signal) =>
        new PocketAgent({ agentConfig: { llmModel: aiSdkModel(script) }, mcpClient, logger: silent }).run('go', {
          traceparent,
          ...(signal ? { signal } : {}),
        }),
      close: () => mcpClient.close(),
    };
  },
};
