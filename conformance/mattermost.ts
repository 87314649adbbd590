// Starts mcp-server-mattermost over HTTP with a fake Mattermost, behind a proxy that adds the token.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startFakeMattermost } from '../packages/mattermost/test/fake/fake-mattermost.ts';
import { startTokenProxy } from './token-proxy.ts';

interface ServerUnderTest {
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
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const proxy = await startTokenProxy(await addressOf(child), CLIENT_TOKEN);
  return {
    url: proxy.url,
    async close() {
      process.off('exit', kill);
      proxy.close();
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      await fake.close();
    },
  };
}

/** Reads the address from the log. Keeps reading the log, so that the process does not block on its output. */
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
