// Starts each installed program the way its users do.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startFakeMattermost } from '../../packages/mattermost/test/fake/fake-mattermost.ts';
import { Project } from './project.ts';

/** Asks a question, lists an included tool folder, prints documentation and creates a tool folder. */
export function tryCommand(project: Project): void {
  const answer = project.command('pocket-agent', '--quiet', '--model', 'demo', 'What is 6 * 7?');
  assert.match(answer, /42/, 'The installed command did not answer.');
  assert.match(project.command('pocket-agent', 'tools', '--tools', 'web'), /web_fetch +read/);
  assert.match(project.command('pocket-agent', 'dump', '--docs-only'), /# Tools as folders/);
  project.command('pocket-agent', 'new-tool', 'Weather');
  assert.match(project.command('pocket-agent', 'tools', '--tools', 'tools'), /Weather/i);
  const { stderr } = project.failingCommand('pocket-agent', 'new', 'shop');
  assert.match(stderr, /--tarballs/, 'A command from a tarball must not install packages of that name from npm.');
  tryGlobalCommand(project);
}

/** A global command does not run code of the folder in which it is started. */
function tryGlobalCommand(project: Project): void {
  const command = project.installGlobally('pocket-agent');
  assert.match(project.run(command, '--quiet', '--model', 'demo', 'What is 6 * 7?'), /42/);
  const name = '@ai-sdk/openai-compatible';
  const downloaded = new Project(`${project.folder}-downloaded`, project.node);
  downloaded.write(
    `node_modules/${name}/package.json`,
    JSON.stringify({ name, type: 'module', exports: './index.js' }),
  );
  downloaded.write(`node_modules/${name}/index.js`, 'console.log("code of the working folder");');
  const { stdout, stderr } = downloaded.failingRun(command, '--model', 'lmstudio/x', 'Hi');
  assert.equal(stdout, '');
  assert.match(stderr, /does not belong to this program\): npm install --global @ai-sdk\/openai-compatible/);
}

/** The published command writes projects that install the published packages. */
export function tryNewProject(project: Project): void {
  for (const template of ['agent', 'mcp-server', 'bot']) {
    project.command('pocket-agent', 'new', `shop-${template}`, '--template', template);
    const { dependencies } = JSON.parse(project.read(`shop-${template}/package.json`));
    assert.match(dependencies['pocket-agent'], /^\^\d/);
    assert.doesNotMatch(project.read(`shop-${template}/Dockerfile`), /tarballs/);
    assert.match(project.read(`shop-${template}/.gitignore`), /node_modules/);
  }
}

/** Runs the server without settings, then with a fake Mattermost and a real MCP client. Also loads the bot. */
export async function tryMattermost(project: Project): Promise<void> {
  assert.match(project.command('mcp-server-mattermost', '--version'), /^\d+\.\d+\.\d+/);
  assert.match(project.command('mcp-server-mattermost', '--help'), /--http/);
  const unset = project.failingCommand('mcp-server-mattermost');
  assert.equal(unset.status, 2, unset.stderr);
  assert.match(unset.stderr, /MATTERMOST_URL is missing/);
  assert.equal(unset.stdout, '');

  const mattermost = await startFakeMattermost();
  const settings = { MATTERMOST_URL: mattermost.url, MATTERMOST_TOKEN: mattermost.token('alice') };
  try {
    await withServer(project, { name: 'mcp-server-mattermost', settings }, async (client) => {
      const post = { channel_id: mattermost.channel('off-topic').id, message: 'Packed and installed' };
      await client.callTool({ name: 'post_message', arguments: post });
      assert.ok([...mattermost.world.posts.values()].some(({ message }) => message === post.message));
    });
  } finally {
    await mattermost.close();
  }
  assert.match(project.command('mattermost-bot', '--help'), /--agent/);
  project.evaluate(`
    const { createMattermostBot } = await import('@pocket-agent/mattermost/bot');
    if (typeof createMattermostBot !== 'function') process.exit(1);`);
}

/** Runs the MCP server with a new registry. */
export async function tryAgent3(project: Project): Promise<void> {
  const settings = { AGENT3_DB: join(project.folder, 'agent3.db') };
  await withServer(project, { name: 'agent3', settings }, async (client) => {
    const { structuredContent } = await client.callTool({ name: 'agent3_search', arguments: { query: 'weather' } });
    assert.deepEqual((structuredContent as { agents: unknown }).agents, []);
  });
}

/** Starts the bot without a token. Its error must name the variable. */
export function tryDiscord(project: Project): void {
  assert.match(project.failingCommand('pocket-discord').stderr, /DISCORD_TOKEN/);
  project.evaluate(`
    const { createBot } = await import('@pocket-agent/discord');
    if (typeof createBot !== 'function') process.exit(1);`);
}

interface ServerCommand {
  name: string;
  settings: Record<string, string>;
}

async function withServer(project: Project, command: ServerCommand, use: (client: Client) => Promise<void>) {
  const { folder: cwd, env } = project;
  const client = new Client({ name: 'check-package', version: '1.0.0' });
  const options = { command: project.commandPath(command.name), cwd, env: { ...env, ...command.settings } };
  try {
    await client.connect(new StdioClientTransport({ ...options, stderr: 'ignore' }));
    await use(client);
  } finally {
    await client.close();
  }
}
