import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../src', import.meta.url));

/** A file may import values only from rows above its own; types may come from anywhere. */
const layers = [
  [
    'bounded-answer',
    'cancellation',
    'json-schema',
    'late-node',
    'linger',
    'numbered',
    'printable',
    'redaction',
    'snapshot',
  ],
  [
    'errors',
    'suggest',
    'logger',
    'event-queue',
    'events',
    'usage',
    'version',
    'data-folder',
    'fair-share',
    'absent-names',
    'run-limit',
  ],
  ['console-format'],
  ['options'],
  ['completion-options', 'hooks'],
  [
    'abort',
    'access',
    'prices',
    'audit',
    'fingerprints',
    'provider-errors',
    'provider-rules',
    'part-origin',
    'model-fetch',
    'model-warnings',
    'image-data',
    'tool-names',
    'tool-schema',
    'run-frame',
  ],
  [
    'messages',
    'prompt-repair',
    'mcp-config',
    'budget',
    'remote-images',
    'model-stream',
    'inside-run',
    'demo-model/',
    'builtin-server/',
    'schema-process',
    'schema-checker',
  ],
  ['prompt'],
  ['model-request'],
  ['foreign-schema', 'history-repair'],
  [
    'model',
    'model-call',
    'tools',
    'oauth',
    'server-requests',
    'pending-calls',
    'shared-tools',
    'message-lines',
    'server-flood',
    'call-result',
    'send-call',
    'ledger',
    'approval',
    'rights',
    'structured-content',
  ],
  ['tool-volume'],
  ['result-size', 'limited-response'],
  ['tool-result', 'sparing-cache', 'turns', 'sampling', 'step-result', 'router/', 'gate', 'permission', 'run-stream'],
  ['calling-client'],
  ['function-tool', 'tool-runner', 'transports', 'http-transport', 'authorization', 'login-fetch', 'remote-approval'],
  ['tool-calls', 'toolbox', 'retry-safety', 'listening-client', 'connect-attempt', 'sub-agents'],
  ['tool-list', 'connect-child', 'openai-messages'],
  ['connect'],
  ['connection', 'served-run', 'served-conversations'],
  ['client'],
  ['agent-options'],
  ['agent-config'],
  ['agent-client'],
  ['agent'],
  ['testing', 'http-server'],
  ['serve'],
  ['a2a/', 'tool-folder/'],
  ['folders/'],
  ['index', 'cli/'],
];

function layerOf(file: string): number {
  const name = file.replace(/\.ts$/, '');
  const found = layers.findIndex((row) =>
    row.some((entry) => (entry.endsWith('/') ? name.startsWith(entry) : name === entry)),
  );
  if (found < 0) throw new Error(`${file} has no layer: add it to the list in this test and to AGENTS.md`);
  return found;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

function valueImports(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  const statements = text.matchAll(/^(?:import|export) (?!type )([^;]*?)from '(\.[^']+)';/gms);
  return [...statements].flatMap(([, names = '', path = '']) => {
    const listed = /\{([^}]*)\}/s.exec(names)?.[1];
    const onlyTypes = listed?.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
    return onlyTypes ? [] : [relative(src, join(dirname(join(src, file)), path))];
  });
}

test.each(files)('%s imports only from layers below it', (file) => {
  const folder = dirname(file);
  for (const imported of valueImports(file)) {
    if (folder !== '.' && dirname(imported) === folder) continue;
    expect(layerOf(imported), `${file} imports ${imported}`).toBeLessThan(layerOf(file));
  }
});

const packages = fileURLToPath(new URL('../..', import.meta.url));

test.each(readdirSync(packages))('AGENTS.md names every source file of %s, and none that is gone', (name) => {
  const listed = readFileSync(join(packages, '..', 'AGENTS.md'), 'utf8');
  const [, section = ''] = listed.split(new RegExp(`^packages/${name}/src\\b.*$`, 'm'));
  const [lines = ''] = section.split(/^\S/m);
  const named = [...lines.matchAll(/^ {2}([\w-]+(?:\/[\w-]+)*\.ts)\s/gm)].map(([, file]) => file);
  const source = readdirSync(join(packages, name, 'src'), { recursive: true, encoding: 'utf8' });
  expect(named.sort()).toEqual(source.filter((file) => file.endsWith('.ts')).sort());
});
