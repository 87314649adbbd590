// Runs the command of a built image as the user of the image, and stops it as Docker does.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Stage } from './build.ts';

/** The user `node` of the images of Node. */
const NODE_USER = { uid: 1000, gid: 1000 };
const START_MS = 60_000;
/** Docker kills a container that does not stop within this time. */
const STOP_MS = 10_000;
const HEALTH_MS = 30_000;

export class Container {
  readonly #image: Stage;
  readonly #env: Record<string, string>;
  readonly #child: ChildProcess;

  constructor(image: Stage, env: Record<string, string>) {
    this.#image = image;
    this.#env = { ...image.env, ...env };
    const [command = '', ...args] = image.command;
    this.#child = spawn(command, args, { ...this.#options, stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** Waits for a line of output that matches, and returns it. */
  async waitForLine(pattern: RegExp): Promise<string> {
    const { stdout } = this.#child;
    assert.ok(stdout);
    const lines = createInterface({ input: stdout, signal: AbortSignal.timeout(START_MS) });
    for await (const line of lines) if (pattern.test(line)) return line;
    throw new Error(`${this.#image.command.join(' ')} did not print ${pattern}.`);
  }

  /** `variables`: the port, which is known only after the start. Otherwise the check gets the variables of the container. */
  checkHealth(variables: { PORT: string }): void {
    const { health = 'false' } = this.#image;
    const options = { ...this.#options, env: { ...this.#env, ...variables }, timeout: HEALTH_MS };
    const { status, stderr } = spawnSync('sh', ['-c', health], options);
    assert.equal(status, 0, `HEALTHCHECK failed: ${stderr}`);
  }

  /** Sends SIGTERM. The process must end in time and without an error. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) assert.fail(`The process ended too early, with ${this.#child.exitCode}.`);
    const ended = once(this.#child, 'exit', { signal: AbortSignal.timeout(STOP_MS) });
    this.#child.kill('SIGTERM');
    const [code] = await ended;
    assert.equal(code, 0, 'exit code after SIGTERM');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
    this.#child.stdout?.destroy(); // an unread pipe keeps this process alive
  }

  get #options() {
    const { root, workdir, user } = this.#image;
    assert.equal(user, 'node', 'The image must not run as root.');
    // only root can switch to another user
    return { cwd: join(root, workdir), env: this.#env, ...(process.getuid?.() === 0 ? NODE_USER : {}) };
  }
}
