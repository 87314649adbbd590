import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

function run(args: readonly string[]) {
  return spawnSync(process.execPath, ['-C', 'pocket-agent/source', ...args], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
    timeout: 55_000,
  });
}

test('a program that closes its agents ends: nothing of A2A is left behind', () => {
  const { status, stdout, stderr } = run([fileURLToPath(new URL('fixtures/a2a-lifetime.ts', import.meta.url))]);
  expect(stderr).toBe('');
  expect(stdout).toBe('closed and gone\n');
  expect(status).toBe(0);
});

const use = `import { PocketAgent } from 'pocket-agent';
  import { remoteAgent } from '@pocket-agent/a2a';
  import { ScriptedModel } from 'pocket-agent/testing';
  const agent = new PocketAgent({ agentConfig: { llmModel: new ScriptedModel([]) } });
  const told = (error) => console.log(error.code, error.message);`;

test('without the SDK, both directions say what to install', () => {
  const without = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(specifier, context, next) {
      return next(specifier.startsWith('@a2a-js/sdk') ? specifier.replace('@a2a-js/sdk', '@a2a-js/sdk-is-not-here') : specifier, context);
    } });`;
  const program = `${use}
    await agent.asA2aServer().catch(told);
    await remoteAgent('http://127.0.0.1:9').listTools().catch(told);`;
  const preload = `data:text/javascript,${encodeURIComponent(without)}`;
  const { stdout } = run(['--import', preload, '--input-type=module', '--eval', program]);
  const line = 'CONFIG_INVALID A2A needs the package @a2a-js/sdk: npm i @a2a-js/sdk\n';
  expect(stdout).toBe(line + line);
});
