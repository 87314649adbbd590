#!/usr/bin/env node
// The command pocket-discord. On a Node that is too old nothing else could even be loaded.
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`pocket-discord needs Node 22.18 or newer; this is ${process.version}.\n`);
  process.exitCode = 2;
} else {
  const { runProgram } = await import('./program.ts');
  const code = await runProgram(fileURLToPath(import.meta.url));
  // what a tool has left open must not keep the process
  process.stderr.write('', () => process.exit(code));
}
