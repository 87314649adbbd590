// The command `pocket-agent gateway`: a file served on stdio, and calls that wait for approval.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import '@pocket-agent/a2a';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { CommandFolder, commandLine } from './fixtures/command.ts';
import { gatewayFile, startGateway } from './fixtures/gateway.ts';

const folder = new CommandFolder();
const [node = '', ...start] = commandLine;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test('serves servers, tool folders and A2A agents on stdin and stdout, under a profile', async () => {
  const poet = new PocketAgent({ llmModel: new ScriptedModel(['Roses are red.']), name: 'Poet' });
  const served = await poet.asA2aServer().listen({ token: 'for-the-poet' });
  ends.push(
    () => poet.close(),
    () => served.close(),
  );
  const agents = { poet: { url: served.url, token: `$\{POET_TOKEN}`, capability: 'read' } };
  const client = new Client({ name: 'tests', version: '1' });
  ends.push(() => client.close());
  const args = [...start, 'gateway', await gatewayFile(folder, { agents }), '--profile', 'reader'];
  await client.connect(
    new StdioClientTransport({
      command: node,
      args,
      env: { ...folder.env, POET_TOKEN: 'for-the-poet' },
      cwd: folder.path,
      stderr: 'ignore',
    }),
  );
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([expect.stringMatching(/^plain__/), expect.stringMatching(/^tools__/)]));
  for (const { annotations } of tools) expect(annotations?.destructiveHint).not.toBe(true);
  const name = names.find((each) => /^poet__.*message$/.test(each)) ?? '';
  const { content } = await client.callTool({ name, arguments: { message: 'A line, please.' } });
  expect(JSON.stringify(content)).toContain('Roses are red.');
});

test('lists calls that wait for approval, and answers them; money of a caller is limited', async () => {
  const state = `${folder.path}/approvals.sqlite`;
  const more = {
    tools: [],
    access: { confirm: 'always' },
    approvals: { endpoint: true },
    prices: { 'plain__*': 0.6 },
  };
  const { url, told } = await startGateway(folder, await gatewayFile(folder, more), state);
  const run = (...args: string[]) => folder.command(['gateway', ...args, '--state', state]);
  const { stdout } = await run('token', 'add', 'ann', '--profile', 'admin', '--usd-per-day', '2');
  expect((await run('token', 'add', 'chief', '--approver')).code).toBe(0);
  expect((await run('token', 'list')).stdout).toMatch(/^ann .*\$2\/day .*\nchief {2}reader {2}no servers {2}approves /);
  const client = new Client({ name: 'tests', version: '1' });
  ends.push(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${stdout.trim()}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const call = async () => {
    const { content } = await client.callTool({ name: 'plain__echo', arguments: { text: 'a' } });
    return JSON.stringify(content);
  };
  const answered = async (...answer: [string, ...string[]]) => {
    const result = call();
    await expect.poll(async () => (await run('approvals')).stdout).toContain('ann wants to call plain__echo');
    const { stdout: listed } = await run('approvals', 'list', '--json');
    const question = JSON.parse(listed);
    expect(question).toMatchObject({ caller: 'ann', tool: 'plain__echo', arguments: { text: 'a' } });
    const [action, ...others] = answer;
    expect((await run('approvals', action, question.id, ...others)).code).toBe(0);
    return result;
  };
  expect(await answered('deny', 'not', 'today')).toContain('was not called: not today');
  expect(await answered('allow', '--arguments', '{"text":"b"}')).toContain('b');
  // the file is read again, with its approvals
  await gatewayFile(folder, { ...more, names: 'prefixed' });
  await expect.poll(told).toContain('gateway.json was read again.');
  expect(await answered('allow', '--always')).toContain('a');
  expect(await call()).toContain('your limit of $2 for this day does not allow it');
  expect(await run('approvals', 'allow', 'x')).toMatchObject({ code: 1, stderr: 'There is no open question "x".\n' });
});
