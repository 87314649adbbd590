#!/usr/bin/env node
// The command pocket-discord. Checks the Node version before it loads anything else.
import { fileURLToPath } from 'node:url';
import { requireNode } from '@pocket-agent/kit/require-node';

requireNode('pocket-discord');
const { runProgram } = await import('./program.ts');
const code = await runProgram(fileURLToPath(import.meta.url));
// handles that a tool left open must not keep the process alive
process.stderr.write('', () => process.exit(code));
