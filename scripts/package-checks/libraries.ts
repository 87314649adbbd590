// Checks what the documentation promises about the library, alone and with its extensions.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../workspaces.ts';
import type { Project } from './project.ts';

/** Compiles and runs the first example of the README, and installs the project again from its lock file. */
export function tryLibrary(project: Project): void {
  project.install('@types/node@24');
  project.installFromLock();
  const [, example = ''] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
  project.write('example.ts', example);
  compile(project, 'example.ts');
  const answer = project.run(project.node.path, 'out/example.js');
  assert.match(answer, /21 °C in London/, 'The example did not answer as the README says.');
  project.evaluate(bundleModule);
  project.evaluate(docsModule);
  const trace = project.evaluate(stackTraceModule, '--enable-source-maps');
  assert.match(trace, /src\/agent\/agent-loop\.ts:\d+/, 'Source maps do not lead to the TypeScript.');
}

const docsModule = `
  import assert from 'node:assert/strict';
  import { existsSync } from 'node:fs';
  const folder = new URL('.', import.meta.resolve('pocket-agent/package.json'));
  for (const file of ['README.md', 'docs/agents.md']) assert.ok(existsSync(new URL(file, folder)), file + ' is missing');`;

/** An import loads few files, and the error class is the same in every entry point and in late imports. */
const bundleModule = `
  import assert from 'node:assert/strict';
  import { registerHooks } from 'node:module';
  const files = [];
  registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context); } });
  const { PocketAgentClient, PocketError } = await import('pocket-agent');
  const own = files.filter((url) => /\\/(pocket-agent|kit|schema)\\/dist\\//.test(url));
  assert.ok(own.length <= 9, 'import loads ' + own.length + ' files: ' + own.join(', '));
  const mcpConfig = { mcpServers: { gone: { url: 'http://127.0.0.1:9/' } } };
  const client = new PocketAgentClient({ mcpConfig });
  await assert.rejects(client.readResource('gone', 'file:///nothing'), PocketError);
  await client.close();`;

/** Prints the stack trace of a failed run, which source maps resolve. Errors of the setup show no frames of the library. */
const stackTraceModule = `
  import { PocketAgent } from 'pocket-agent';
  import { ScriptedModel } from 'pocket-agent/testing';
  const model = new ScriptedModel([{ toolCalls: [{ name: 'gone' }] }]);
  const agent = new PocketAgent({ llmModel: model, limits: { maxSteps: 1 } });
  await agent.run('Hello').catch(({ stack }) => console.log(stack));`;

/** Uses the library with all its extensions in one program. Each tarball contains its own helper packages. */
export function tryExtensions(project: Project): void {
  project.evaluate(missingEngineModule);
  project.install('@types/node@26', 'quickjs-wasi@3.6.2'); // the newest; tryLibrary compiles with those of this repository
  project.write('together.ts', togetherModule);
  compile(project, 'together.ts');
  assert.match(project.run(project.node.path, 'out/together.js'), /Redis at 127.0.0.1:9 cannot be reached.*passed/s);
}

/** The error for a missing optional package names the command that installs it. */
const missingEngineModule = `
  import assert from 'node:assert/strict';
  import { codeMode } from '@pocket-agent/code-mode';
  assert.throws(() => codeMode(), /npm install .*quickjs-wasi/);`;

const togetherModule = `
  import assert from 'node:assert/strict';
  import { mkdirSync, writeFileSync } from 'node:fs';
  import { remoteAgent } from '@pocket-agent/a2a';
  import { codeMode } from '@pocket-agent/code-mode';
  import { redisRateStore } from '@pocket-agent/redis';
  import { openConversations } from '@pocket-agent/store';
  import { loadToolFolder } from '@pocket-agent/tool-folder';
  import { isPocketError, type Logger, PocketAgent, PocketError, Router } from 'pocket-agent';
  import { ScriptedModel } from 'pocket-agent/testing';

  // errors of every package are errors of the library
  await assert.rejects(async () => loadToolFolder('./nowhere').listTools(), PocketError);
  await assert.rejects(async () => loadToolFolder('./nowhere').listTools(), (error) => isPocketError(error));
  assert.throws(() => remoteAgent('nowhere'), PocketError);

  // the option \`skills\` finds the package that reads them; a fork has the same skills
  mkdirSync('skills/pdf', { recursive: true });
  writeFileSync('skills/pdf/SKILL.md', '---\\nname: pdf\\ndescription: Fills forms\\n---\\nUse black ink.');
  const script = () => [{ toolCalls: [{ name: 'load_skill', arguments: { skill: 'pdf' } }] }, 'Done.'];
  const skilled = new PocketAgent({ llmModel: new ScriptedModel([...script(), ...script()]), skills: ['./skills'] });
  for (const agent of [skilled, skilled.fork()]) {
    await agent.run('Fill the form.');
    assert.match(JSON.stringify(agent.messages), /Use black ink/);
  }

  // a conversation is saved, and a served agent answers over A2A
  const poet = new PocketAgent({ llmModel: new ScriptedModel(['A rose.', 'A rose.']), name: 'Poet' });
  const chats = await openConversations('chats.sqlite');
  assert.equal(await (await chats.open('first', poet)).run('A line, please.'), 'A rose.');
  assert.equal((await chats.list()).conversations[0]?.title, 'A line, please.');
  await chats.close();
  const server = await poet.asA2aServer().listen({ port: 0 });
  const ask = { name: 'Poet-message', arguments: { message: 'A line.' } };
  const llmModel = new ScriptedModel([{ toolCalls: [ask] }, 'Done.']);
  const reader = new PocketAgent({ llmModel, tools: [remoteAgent(server.url)] });
  await reader.run('Ask for a line.');
  assert.match(JSON.stringify(reader.messages), /A rose\\./);
  await reader.close();
  await server.close();

  // code of the model runs in a thread
  const coded = new ScriptedModel([{ toolCalls: [{ name: 'run_code', arguments: { code: 'return 6 * 7' } }] }, 'Done.']);
  const coder = new PocketAgent({ llmModel: coded, tools: [codeMode()] });
  await coder.run('What is 6 * 7?');
  assert.match(JSON.stringify(coder.messages), /"42"/);

  // a router answers although Redis cannot be reached
  const models = [{ modelName: 'main', params: { model: new ScriptedModel(['Hello']) } }];
  const logger: Logger = { debug() {}, info() {}, warn: console.log, error: console.log };
  const router = new Router({ models, logger, rateStore: redisRateStore({ url: 'redis://127.0.0.1:9' }) });
  assert.equal(await new PocketAgent({ llmModel: 'main', router }).run('Hi'), 'Hello');
  await router.close();
  console.log('passed');`;

function compile(project: Project, file: string): void {
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2024', types: ['node'], outDir: 'out' };
  project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
  // the compiler of this repository, because installing it takes longer than everything else
  project.run(join(root, 'node_modules/.bin/tsc'), '-p', '.');
}
