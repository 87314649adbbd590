// The pages of the site and their place in the sidebar. A test fails if a page of docs/ is missing here.

/** Files by group, with their labels. */
export const sidebar: Record<string, Record<string, string>> = {
  Start: {
    'README.md': 'Overview',
    'docs/getting-started.md': 'Getting started',
    'docs/agents.md': 'Agents',
    'docs/models.md': 'Models',
    'docs/command-line.md': 'Command line',
    'docs/deploying.md': 'New projects and deploying',
  },
  Runs: {
    'docs/typed-answers.md': 'Typed answers',
    'docs/conversations.md': 'Conversations',
    'docs/runs.md': 'Durable runs',
    'docs/web-pages.md': 'Web pages',
    'docs/streaming.md': 'Streaming to a browser',
    'docs/hooks-and-events.md': 'Hooks and events',
    'docs/observability.md': 'Observability',
    'docs/compaction.md': 'Long conversations',
    'docs/files.md': 'Files',
    'docs/multi-agent.md': 'Several agents',
  },
  Tools: {
    'docs/mcp-servers.md': 'MCP servers',
    'docs/tool-search.md': 'Many tools',
    'docs/code-mode.md': 'Code mode',
    'docs/access.md': 'Access and approval',
    'docs/tool-folders.md': 'Tool folders',
    'docs/skills.md': 'Skills',
    'docs/provider-tools.md': 'Tools of the provider',
    'docs/a2a.md': 'A2A',
  },
  'In production': {
    'docs/web-frameworks.md': 'Web frameworks and runtimes',
    'docs/gateway.md': 'Gateway',
    'docs/studio.md': 'Studio',
    'docs/testing.md': 'Testing',
    'docs/evaluation.md': 'Evaluation',
    'docs/support.md': 'Support',
    'SECURITY.md': 'Security',
  },
  Programs: {
    'docs/mattermost.md': 'Mattermost server',
    'docs/mattermost-bot.md': 'Mattermost bot',
    'docs/agent3.md': 'Agent3',
    'docs/discord.md': 'Discord bot',
  },
  'Coming from': {
    'docs/from-langchain.md': 'LangChain',
    'docs/from-ai-sdk.md': 'AI SDK',
    'docs/from-mastra.md': 'Mastra',
    'docs/from-openai-agents.md': 'OpenAI Agents',
    'docs/from-python.md': 'Pocket Agent for Python',
    'docs/from-jakeybot.md': 'JakeyBot',
    'docs/from-mattermost-python.md': 'Mattermost for Python',
    'docs/from-agent3-seed.md': 'agent3_call',
  },
  Background: {
    'docs/architecture.md': 'Architecture',
    'docs/decisions': 'Decisions',
    'docs/behaviour.md': 'Behaviour compared',
    'bench/RESULTS.md': 'Benchmark',
    'CONTRIBUTING.md': 'Contributing',
    'CHANGELOG.md': 'Changelog',
  },
  Reference: {
    examples: 'Examples',
    'docs/reference.md': 'All names',
  },
};

/** The path of a page on the site, without extension; undefined for files that are not on it. */
export function pagePath(file: string): string | undefined {
  const own: Record<string, string> = {
    'README.md': 'overview',
    'bench/RESULTS.md': 'benchmark',
    'docs/decisions': 'decisions/index',
    examples: 'examples/index',
  };
  if (own[file] !== undefined) return own[file];
  const [, path = ''] = /^(?:docs\/)?(.+)\.(?:md|ts)$/.exec(file) ?? [];
  if (/^docs\/(?:decisions\/)?[^/]+\.md$/.test(file) || /^examples\/[^/]+\.ts$/.test(file)) return path;
  return ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'].includes(file) ? path.toLowerCase() : undefined;
}
