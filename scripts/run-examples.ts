// Runs all numbered examples, or some of them, each in its own process. Each example checks its own result.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { showHelp } from './show-help.ts';

showHelp(`npm run examples             runs all examples; each checks its own result
npm run examples -- START…   runs those whose names begin with START, such as 03, and shows their output
`);
const folder = fileURLToPath(new URL('../examples/', import.meta.url));
const wanted = process.argv.slice(2);
const all = readdirSync(folder).filter((name) => /^\d\d-.*\.ts$/.test(name));
const unknown = wanted.find((start) => !all.some((name) => name.startsWith(start)));
if (unknown !== undefined) {
  console.error(`There is no example "${unknown}". There are:\n${all.sort().join('\n')}`);
  process.exit(2);
}
const examples = all.filter((name) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)));
const failed: string[] = [];

for (const name of examples.sort()) {
  const started = performance.now();
  const { code, output } = await run(`${folder}${name}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (code !== 0) failed.push(name);
  if (code !== 0 || wanted.length > 0) console.log(output);
}
console.log(`${examples.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

function run(file: string): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['-C', 'pocket-agent/source', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 180_000,
    });
    let output = '';
    const keep = (chunk: Buffer) => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('close', (code) => resolve({ code, output }));
  });
}
