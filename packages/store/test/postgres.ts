// Starts a PostgreSQL server for one test file, from the Debian packages, and removes it afterwards.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface TestPostgres {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Ends all connections, like a crash or a failover. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

type Identity = { uid: number; gid: number } | Record<string, never>;

export async function startPostgres(): Promise<TestPostgres> {
  const bin = await findBin();
  const identity = await serverIdentity();
  const folder = await mkdtemp(join(tmpdir(), 'pocket-postgres-'));
  if (identity.uid !== undefined) await chown(folder, identity.uid, identity.gid);
  const port = await freePort();
  const data = join(folder, 'data');
  const program = (name: string, args: string[]) =>
    spawn(join(bin, name), args, { ...identity, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let server: ChildProcess | undefined;

  const start = async () => {
    const settings = ['fsync=off', 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
    server = program('postgres', ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]);
    await isReady(server);
  };
  const stop = async () => {
    if (!server || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill('SIGINT'); // fast: ends the connections
    await ended;
  };

  try {
    await expectSuccess(program('initdb', ['-D', data, '-U', 'tester', '-A', 'trust', '-E', 'UTF8', '--no-sync']));
    await start();
  } catch (error) {
    await stop();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  let databases = 0;
  return {
    async createDatabase() {
      const name = `test_${++databases}`;
      await expectSuccess(program('createdb', ['-h', '127.0.0.1', '-p', String(port), '-U', 'tester', name]));
      return `postgres://tester@127.0.0.1:${port}/${name}`;
    },
    async restart() {
      await stop();
      await start();
    },
    async stop() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findBin(): Promise<string> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch((): string[] => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql');
  return join(root, newest, 'bin');
}

/** The server refuses to run as root. */
async function serverIdentity(): Promise<Identity> {
  if (userInfo().uid !== 0) return {};
  const line = (await readFile('/etc/passwd', 'utf8')).split('\n').find((entry) => entry.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) throw new Error('No user named postgres exists to run the server');
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return address.port;
}

async function expectSuccess(child: ChildProcess): Promise<void> {
  let errorOutput = '';
  child.stderr?.on('data', (text) => {
    errorOutput += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${child.spawnfile} ended with ${code}: ${errorOutput}`);
}

function isReady(server: ChildProcess): Promise<void> {
  const { stderr } = server;
  if (!stderr) throw new Error('postgres has no stderr');
  return new Promise((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}`)));
    createInterface(stderr).on('line', (line) => {
      if (line.includes('ready to accept connections')) resolve();
    });
  });
}
