#!/usr/bin/env node
// The command mattermost-bot. Loads the program only on a supported Node version.
import { requireNode } from '@pocket-agent/kit/require-node';

requireNode('mattermost-bot');
const { runProgram } = await import('./program.ts');
await runProgram();
