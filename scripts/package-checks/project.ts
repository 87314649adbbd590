// An empty project for one version of Node, in which tarballs are installed and tried.
import assert from 'node:assert/strict';
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** The time limit of a command. */
const TIMEOUT_MS = 300_000;

export interface NodeVersion {
  name: string;
  /** The path of the executable. */
  path: string;
}

export class Project {
  readonly folder: string;
  readonly node: NodeVersion;
  #packages: readonly string[] = [];

  constructor(folder: string, node: NodeVersion) {
    this.folder = folder;
    this.node = node;
    mkdirSync(folder, { recursive: true });
    this.write('package.json', JSON.stringify({ type: 'module', private: true }));
  }

  install(...packages: string[]): void {
    this.#packages = packages;
    this.#npm('install', ...packages);
  }

  /** Installs the same packages globally, in their own folder. Returns the path of a command. */
  installGlobally(command: string): string {
    const prefix = join(this.folder, 'global');
    this.#npm('install', '--global', '--prefix', prefix, ...this.#packages);
    return join(prefix, 'bin', command);
  }

  /** Installs everything again from package-lock.json, as an image build does. */
  installFromLock(): void {
    rmSync(join(this.folder, 'node_modules'), { recursive: true });
    this.#npm('ci');
  }

  /** Also fails if packages are missing, extraneous or invalid. */
  countPackages(): number {
    return this.#npm('ls', '--all', '--parseable').trim().split('\n').length - 1;
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  /** Runs a module and returns what it printed. */
  evaluate(module: string, ...nodeOptions: string[]): string {
    return this.run(this.node.path, ...nodeOptions, '--input-type=module', '-e', module);
  }

  run(command: string, ...args: string[]): string {
    return execFileSync(command, args, {
      cwd: this.folder,
      env: { ...process.env, ...this.env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: TIMEOUT_MS,
    });
  }

  /** Runs an installed command. */
  command(name: string, ...args: string[]): string {
    return this.run(this.commandPath(name), ...args);
  }

  /** Runs an installed command that must fail, without the variables of this process. */
  failingCommand(name: string, ...args: string[]): SpawnSyncReturns<string> {
    return this.failingRun(this.commandPath(name), ...args);
  }

  failingRun(command: string, ...args: string[]): SpawnSyncReturns<string> {
    const options = { cwd: this.folder, env: this.env, encoding: 'utf8', timeout: TIMEOUT_MS } as const;
    const result = spawnSync(command, args, options);
    assert.notEqual(result.status, 0, `${command} was expected to fail.`);
    return result;
  }

  commandPath(name: string): string {
    return join(this.folder, 'node_modules/.bin', name);
  }

  /** Commands start with the Node of this project. */
  get env(): { PATH: string } {
    return { PATH: [dirname(this.node.path), process.env.PATH].join(delimiter) };
  }

  #npm(...args: string[]): string {
    const npm = process.env.npm_execpath;
    assert.ok(npm, 'Start this program with npm: npm run test:package');
    return this.run(this.node.path, npm, ...args, '--silent', '--no-audit', '--no-fund');
  }
}
