import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, scriptedBy } from '../fixtures/command.ts';

const folder = new CommandFolder();
let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterEach(() => fake.reset());
afterAll(() => fake.close());

/** The line of a table that begins with a word, with one space between cells. */
function row(table: string, name: string): string | undefined {
  const line = table.split('\n').find((each) => each.startsWith(`${name} `));
  return line?.replaceAll(/ {2,}/g, ' ');
}

describe('pocket-agent models', () => {
  test('lists every provider with the variable of its key and its package', async () => {
    const env = { GEMINI_API_KEY: 'secret-1', MISTRAL_API_KEY: 'secret-2' };
    const { code, stdout, stderr } = await folder.command(['models'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(row(stdout, 'google')).toBe('google GEMINI_API_KEY is set @ai-sdk/google');
    expect(row(stdout, 'mistral')).toBe('mistral MISTRAL_API_KEY is set @ai-sdk/mistral');
    expect(row(stdout, 'anthropic')).toBe('anthropic set ANTHROPIC_API_KEY @ai-sdk/anthropic');
    expect(row(stdout, 'cohere')).toBe('cohere set COHERE_API_KEY npm install @ai-sdk/cohere');
    expect(row(stdout, 'openrouter')).toBe('openrouter set OPENROUTER_API_KEY npm install @openrouter/ai-sdk-provider');
    expect(row(stdout, 'ollama')).toBe('ollama no key needed @ai-sdk/openai-compatible');
    expect(row(stdout, 'vllm')).toBe('vllm set HOSTED_VLLM_API_BASE @ai-sdk/openai-compatible');
    expect(stdout).not.toContain('secret');
  });

  test.each([
    [{ AWS_BEARER_TOKEN_BEDROCK: 'x' }, 'amazon-bedrock', 'set AWS_REGION'],
    [
      { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'y', AWS_REGION_NAME: 'z' },
      'amazon-bedrock',
      'AWS_ACCESS_KEY_ID is set',
    ],
    [{ VERTEXAI_PROJECT: 'x' }, 'google-vertex', 'no key needed'],
    [{ GOOGLE_VERTEX_API_KEY: 'x' }, 'google-vertex', 'GOOGLE_VERTEX_API_KEY is set'],
    [{}, 'google-vertex', 'set GOOGLE_VERTEX_PROJECT'],
    [{ AZURE_API_KEY: 'x' }, 'azure', 'set AZURE_RESOURCE_NAME'],
    [{ AZURE_API_KEY: 'x', AZURE_API_BASE: 'https://y' }, 'azure', 'AZURE_API_KEY is set'],
  ])('says with %j what %s needs: %s', async (env, provider, text) => {
    const { stdout } = await folder.command(['models'], { env });
    expect(row(stdout, provider)).toContain(` ${text} `);
  });

  test('lists the models of a provider, or one model, with context window, price, tools and images', async () => {
    const { stdout } = await folder.command(['models', 'anthropic', 'bedrock/y', 'xai/grok-4']);
    expect(row(stdout, 'model')).toBe('model context input output tools images');
    expect(row(stdout, 'anthropic/claude-sonnet-4-5')).toBe('anthropic/claude-sonnet-4-5 200,000 $3 $15 yes yes');
    expect(row(stdout, 'xai/grok-4')).toBe('xai/grok-4 256,000 $3 $15 yes yes');
    expect(row(stdout, 'bedrock/y')).toBe('bedrock/y ? ? ? ? ?');
  });

  test('leaves out models that are not language models', async () => {
    const { stdout } = await folder.command(['models', 'openai', 'google']);
    expect(row(stdout, 'openai/gpt-5')).toBe('openai/gpt-5 400,000 $1.25 $10 yes yes');
    expect(stdout).not.toMatch(/embedding|whisper|tts|google\/claude/);
  });

  test('--all lists the models of the providers that can be used, those of Ollama included', async () => {
    const server = createServer((_request, response) => response.end('{"models":[{"name":"qwen3:8b"}]}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const env = { OLLAMA_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: 'secret' };
    const { stdout } = await folder.command(['models', '--all'], { env });
    server.close();
    expect(row(stdout, 'ollama/qwen3:8b')).toBe('ollama/qwen3:8b ? $0 $0 yes no');
    expect(stdout).toContain('anthropic/claude-');
    expect(stdout).not.toContain('openai/gpt');
  });

  test('--json prints one object per line', async () => {
    const providers = (await folder.command(['models', '--json'], { env: { XAI_API_KEY: 'secret' } })).stdout;
    expect(
      providers
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toContainEqual({
      provider: 'xai',
      package: '@ai-sdk/xai',
      installed: false,
      key: 'XAI_API_KEY',
    });
    const { stdout } = await folder.command(['models', 'openai/gpt-5', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      model: 'openai/gpt-5',
      contextWindow: 400_000,
      price: { input: 1.25, output: 10 },
      tools: true,
      images: true,
    });
  });

  test('--check calls the model with a tool and with an image', async () => {
    const call = { name: 'look_up_code', arguments: {} };
    fake.script({ toolCalls: [call] }, 'The code is 4711.', 'Red.');
    const args = ['models', '--check', 'openai-compatible/x'];
    const { code, stdout } = await folder.command(args, { env: scriptedBy(fake) });
    expect({ code, row: row(stdout, 'openai-compatible/x') }).toEqual({
      code: 0,
      row: 'openai-compatible/x ? ? ? yes yes',
    });
    fake.script('I have no tools.', 'I cannot see an image.');
    const blind = await folder.command(args, { env: scriptedBy(fake) });
    expect(row(blind.stdout, 'openai-compatible/x')).toBe('openai-compatible/x ? ? ? no no');
  });

  test('--check says why a model cannot be called, with exit code 1', async () => {
    fake.script({ status: 404, message: 'The model x does not exist.' });
    const args = ['models', '--check', 'openai-compatible/x'];
    const { code, stdout } = await folder.command(args, { env: scriptedBy(fake) });
    expect(code).toBe(1);
    expect(stdout).toContain('The model x does not exist. The provider does not know "x": check the name');
  });

  test.each([
    [['models', 'nonsense'], 'Unknown model "nonsense".'],
    [['models', 'mistrl/x'], 'Did you mean "mistral/x"?'],
    [['models', '--check'], '--check needs the names of models'],
    [['models', '--check', 'openai'], '--check needs names of models, not "openai": write openai/….'],
  ])('%j is refused', async (args, text) => {
    const { code, stdout, stderr } = await folder.command(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(text);
  });
});
