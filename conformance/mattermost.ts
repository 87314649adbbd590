// Starts mcp-server-mattermost over HTTP with a fake Mattermost, behind a proxy that adds the token, because the suite
// sends none.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startFakeMattermost } from '../packages/mattermost/test/fake/fake-mattermost.ts';
import { openDoor } from './door.ts';

export interface ServerUnderTest {
  url: string;
  close(): Promise<void>;
}

const CLIENT_TOKEN = 'the-token-of-the-suite';
const main = fileURLToPath(import.meta.resolve('../packages/mattermost/src/main.ts'));

export async function startMattermostServer(): Promise<ServerUnderTest> {
  const fake = await startFakeMattermost();
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', main, '--http', '--port', '0'], {
    env: {
      MATTERMOST_URL: fake.url,
      MATTERMOST_TOKEN: fake.token('alice'),
      MATTERMOST_HTTP_TOKEN: CLIENT_TOKEN,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const door = await openDoor(await addressOf(child), CLIENT_TOKEN);
  return {
    url: door.url,
    async close() {
      process.off('exit', end);
      door.close();
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      await fake.close();
    },
  };
}

/** Returns the address from the log. Keeps reading the log afterwards, so that the process never blocks on its output. */
async function addressOf(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk;
    const address = /"url":"(http:[^"]+)"/.exec(log)?.[1];
    if (address) resolve(address);
  });
  child.once('exit', () => reject(new Error(`mcp-server-mattermost did not start: ${log}`)));
  return promise;
}
