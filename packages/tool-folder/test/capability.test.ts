// Capabilities of tools in folders: a missing one is reported, and the operator can set a default.

import { loadToolFolder, problemText, type ToolFolderOptions, undeclaredText } from '@pocket-agent/tool-folder';
import { capabilityOf } from 'pocket-agent';
import { describe, expect, onTestFinished, test } from 'vitest';
import { manifestOf, recordLog, writeFiles, writeInto } from './files.ts';
import { SEED_MANIFEST, SEED_TOOLS } from './fixtures/seed-manifest.ts';

function load(files: Record<string, string>, options: ToolFolderOptions = {}) {
  const log = recordLog();
  const root = writeFiles(files);
  const folder = loadToolFolder(root, { logger: log.logger, ...options });
  onTestFinished(() => folder.close());
  return { ...log, root, folder };
}

const seed = { 'Multiply/manifest.yaml': SEED_MANIFEST, 'Multiply/tool.mjs': SEED_TOOLS };

test('a tool without a capability works, counts as delete, and is reported once with advice', async () => {
  const { folder, lines, undeclared } = load(seed);
  const [tool] = await folder.listTools();
  expect(tool && folder.judge(tool)).toEqual({ capability: 'delete', from: 'nothing' });
  const { content } = await folder.callTool('multiply', { multiplicand: 6, multiplier: 7 });
  expect(content).toEqual([{ type: 'text', text: '42' }]);
  expect(lines).toEqual([]);
  expect(undeclared).toEqual([
    'warn: Tool folder "Multiplication Tool": no capability for "multiply", treated like delete (only the profile admin may use it, and calls need approval). Add "capability: read" (or write, create, delete) to the manifest; for your own folders defaultCapability sets a default.',
  ]);
  const [state] = folder.folders;
  expect(state?.undeclared).toEqual(['multiply']);
  expect(state && undeclaredText(state)).toContain('"multiply"');
});

test('the default capability applies only to tools that declare none', async () => {
  const declared = manifestOf('erase', 'look').replace('Does erase', 'Erases\n    capability: delete');
  const annotated = declared.replace('Does look', 'Looks\n    annotations: { destructiveHint: true }');
  const { folder, undeclared } = load(
    { ...seed, 'Other/manifest.yaml': annotated, 'Other/tool.mjs': 'export class Tools { erase() {} look() {} }' },
    { defaultCapability: 'read' },
  );
  const tools = await folder.listTools();
  expect(Object.fromEntries(tools.map((tool) => [tool.name, folder.judge(tool).capability]))).toEqual({
    multiply: 'read',
    erase: 'delete',
    look: 'delete',
  });
  // also for clients of a server, and for programs with a loop of their own
  expect(tools.map(capabilityOf)).toEqual(['read', 'delete', 'delete']);
  expect(undeclared).toEqual([]);
});

test('an invalid default capability is refused with a suggestion', () => {
  const options = { defaultCapability: 'raed' } as unknown as ToolFolderOptions;
  expect(() => loadToolFolder('tools', options)).toThrow(
    'defaultCapability is "raed"; it must be one of read, write, create, delete (did you mean "read"?).',
  );
});

test('a misspelt capability in a manifest is a problem with a suggestion', async () => {
  const manifest = manifestOf('look').replace('Does look', 'Looks\n    capability: raed');
  const { folder } = load({ 'A/manifest.yaml': manifest, 'A/tool.mjs': 'export class Tools { look() {} }' });
  const [state] = await folder.load();
  expect(state?.problems.map(problemText).join()).toContain(
    'found "raed"; expected one of read, write, create, delete (did you mean "read"?)',
  );
});

test('an edit that removes the capability is reported', async () => {
  const manifest = (capability: string) => manifestOf('look').replace('Does look', `Looks${capability}`);
  const files = {
    'A/manifest.yaml': manifest('\n    capability: read'),
    'A/tool.mjs': 'export class Tools { look() {} }',
  };
  const { folder, root, undeclared } = load(files, { watch: true });
  await folder.load();
  expect(undeclared).toEqual([]);
  const changed = new Promise<void>((resolve) => void folder.onChange(resolve));
  writeInto(root, 'A/manifest.yaml', manifest(''));
  await changed;
  expect(undeclared).toHaveLength(1);
});

describe('a constructor with several parameters', () => {
  const code = (body: string, parameters = 'discord_ctx, discord_bot') =>
    `export class Tools { constructor(${parameters}) { Object.assign(this, { ctx: ${parameters.split(', ')[0]}, bot: ${parameters.split(', ')[1]} }); } async look() { ${body} } }`;
  class Bot {
    #name = 'Jakey';
    name() {
      return this.#name;
    }
  }
  const host = (call: { meta: Readonly<Record<string, unknown>> }) => ({
    discord_ctx: { channel: `#${call.meta.channel}` },
    discord_bot: new Bot(),
  });
  const looked = async (body: string, { parameters = 'discord_ctx, discord_bot', context = host as object } = {}) => {
    const files = { 'A/manifest.yaml': manifestOf('look'), 'A/tool.mjs': code(body, parameters) };
    const { folder } = load(files, { context });
    await folder.listTools();
    const { content } = await folder.callTool('look', {}, { meta: { channel: 'general' } });
    return JSON.stringify(content);
  };

  test('gets the host values of the same names, separate for each call', async () => {
    expect(await looked('return this.ctx.channel + this.bot.name()')).toContain('#generalJakey');
    expect(
      await looked('return this.ctx.channel + this.bot.name()', { parameters: 'discordCtx, discordBot' }),
    ).toContain('#generalJakey');
  });

  test('gets the whole context as the first parameter if the host has no such value', async () => {
    expect(await looked('return this.ctx.folder.name', { parameters: 'context, discord_bot' })).toContain('A');
  });

  test('reports a missing value when it is used', async () => {
    await expect(looked('return this.bot.name()', { context: {} })).rejects.toThrow(
      'Constructor parameter "discord_bot" of Tools: the program that runs this tool folder does not provide it. The usual form is constructor(context), with one context object.',
    );
  });
});
