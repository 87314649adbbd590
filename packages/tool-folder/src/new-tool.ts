// Writes a new tool folder that works, with a test.
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorText, makeFolder, PocketError } from '@pocket-agent/kit';

/** Runs a test file, which is its next argument. In a checkout it uses the sources, so no build is needed. */
export const testCommand = import.meta.url.endsWith('.ts') ? 'node -C pocket-agent/source --test' : 'node --test';

/** What `writeNewTool` has written. */
export interface NewTool {
  path: string;
  /** The name of its one tool. */
  tool: string;
  files: readonly string[];
}

/** Creates `<directory>/<name>` with manifest.yaml, tool.ts, tool.test.ts and package.json. Fails if it exists. */
export async function writeNewTool(directory: string, name: string): Promise<NewTool> {
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,49}$/.test(name) || name === 'node_modules') {
    throw new PocketError(
      'CONFIG_INVALID',
      `"${name}" is not a valid name for a tool folder: start with a letter and use at most 50 letters, digits, _ and -.`,
    );
  }
  const path = join(resolve(directory), name);
  await makeFolder(resolve(directory));
  try {
    await mkdir(path);
  } catch (error) {
    const reason = errorText(error).includes('EEXIST') ? 'it already exists; choose another name' : errorText(error);
    throw new PocketError('CONFIG_INVALID', `Cannot create ${path}: ${reason}.`, { cause: error });
  }
  const tool = snakeCase(name);
  const contents = {
    'manifest.yaml': manifest(name, tool),
    'tool.ts': code(tool),
    'tool.test.ts': test(tool),
    // otherwise a package.json above it may make this folder CommonJS
    'package.json': '{ "private": true, "type": "module" }\n',
  };
  const files = Object.entries(contents).map(([file, text]) => ({ file: join(path, file), text }));
  for (const { file, text } of files) await writeFile(file, text, { flag: 'wx' });
  return { path, tool, files: files.map(({ file }) => file) };
}

/** `WebSearch` and `web-search` are `web_search`. */
function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

function manifest(name: string, tool: string): string {
  return `# What users and models see of this folder. All keys: docs/tool-folders.md of pocket-agent.
tool_human_name: ${JSON.stringify(name)}
tool_list:
  - name: ${tool}
    description: Repeats a string. Say here what the tool does and when a model should use it.
    capability: read # read, write, create or delete
    parameters: # a JSON Schema for an object
      type: object
      properties:
        text:
          type: string
          description: The string to repeat
        times:
          type: integer
          minimum: 1
          maximum: 10
          default: 1
      required: [text]
`;
}

function code(tool: string): string {
  return `// The code of the tools in manifest.yaml: one method tool_<name> for each.
import type { ToolContext } from '@pocket-agent/tool-folder';

export class Tools {
  readonly #context: ToolContext;

  constructor(context: ToolContext) {
    this.#context = context;
  }

  async tool_${tool}({ text, times }: { text: string; times: number }): Promise<string> {
    this.#context.log('debug', \`\${times} times\`);
    return Array(times).fill(text).join(' ');
  }
}
`;
}

function test(tool: string): string {
  return `// Run it in this folder: ${testCommand} tool.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadToolFolder } from '@pocket-agent/tool-folder';

test('${tool} repeats a string', async (context) => {
  const folder = loadToolFolder(import.meta.dirname, { strict: true });
  context.after(() => folder.close());
  const { content } = await folder.callTool('${tool}', { text: 'hi', times: 2 });
  assert.deepEqual(content, [{ type: 'text', text: 'hi hi' }]);
});

test('${tool} refuses arguments that its manifest does not allow', async (context) => {
  const folder = loadToolFolder(import.meta.dirname, { strict: true });
  context.after(() => folder.close());
  await assert.rejects(folder.callTool('${tool}', { text: 'hi', times: 11 }), /times must be <= 10/);
});
`;
}
