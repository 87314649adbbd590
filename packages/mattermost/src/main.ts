#!/usr/bin/env node
// The command mcp-server-mattermost. Loads the program only on a supported Node version.
import { requireNode } from '@pocket-agent/kit/require-node';

requireNode('mcp-server-mattermost');
const { runProgram } = await import('./program.ts');
await runProgram();
