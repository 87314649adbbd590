// Pocket Agent.
import { codeMode } from '@pocket-agent/code-mode';
import { PocketAgent, PocketAgentClient, type PocketAgentOptions } from 'pocket-agent';
import { aiSdkModel } from '../contenders/ai-sdk-model.ts';
import type { Subject, SubjectOptions } from './subject.ts';

const capabilities = ['read', 'write', 'create', 'delete'] as const;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

export const subject: Subject = {
  search: (query, tool) => [[{ tool: 'find_tools', args: { query } }], [{ tool }]],
  inCode: (tool) => ({
    tool: 'run_code',
    args: { code: `return await tools.${tool}({}).catch((error) => error.message)` },
  }),
  async open({ servers, name, traceparent, refused, denied }) {
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
          ...(denied ? { ...approvals(denied), tools: [codeMode()] } : {}),
          logger: silent,
        }).run('go', {
          traceparent,
          ...(signal ? { signal } : {}),
        }),
      close: () => mcpClient.close(),
    };
  },
};

function approvals({ tool: deniedTool, asked }: NonNullable<SubjectOptions['denied']>): Partial<PocketAgentOptions> {
  return {
    exposure: 'code',
    access: { confirm: 'always' },
    approve: ({ tool }) => {
      asked(tool);
      return tool === deniedTool ? 'deny' : 'allow';
    },
  };
}
