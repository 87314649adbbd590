#!/usr/bin/env node
// The command pocket-discord. Checks the Node version before it loads anything else.
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`pocket-discord needs Node 22.18 or newer; this is ${process.version}.\n`);
  process.exitCode = 2;
} else {
  const { runProgram } = await import('./program.ts');
  const code = await runProgram(fileURLToPath(import.meta.url));
  // handles that a tool left open must not keep the process alive
  process.stderr.write('', () => process.exit(code));
}
