#!/usr/bin/env node
// The command mattermost-bot. Checks the Node version first, because older versions cannot load the rest.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`mattermost-bot needs Node 22.18 or newer; this is ${process.version}.\n`);
  process.exitCode = 2;
} else {
  const { runProgram } = await import('./program.ts');
  await runProgram();
}
