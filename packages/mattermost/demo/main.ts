// npm run mattermost:demo: an MCP client and a bot at work in a local Mattermost. Needs no account and no API key.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { errorText } from '@pocket-agent/kit';
import { drawChannel } from './picture.ts';
import { playScene } from './scene.ts';

const USAGE = `Usage: npm run mattermost:demo [-- --fast | -- --picture FILE]

  --fast           show the scene without pauses
  --picture FILE   also write an SVG of the channel in the scene
`;

const print = (line: string) => void process.stdout.write(`${line}\n`);
process.stdout.once('error', () => process.exit(1)); // for example, a closed pipe
try {
  const { values } = parseArgs({
    options: {
      fast: { type: 'boolean', default: false },
      picture: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) process.stdout.write(USAGE);
  else {
    const { channel } = await playScene({ isFast: values.fast, print });
    if (values.picture !== undefined) await writeFile(values.picture, drawChannel(channel));
  }
} catch (error) {
  const isUsage = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${errorText(error)}\n${isUsage ? USAGE : ''}`);
  process.exitCode = isUsage ? 2 : 1;
}
