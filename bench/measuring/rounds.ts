// Lets contenders measure in turns. Each has its own process, which works for a short time in each of its turns, so that a busy
// minute of the machine affects all contenders.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Effort, Figures } from '../contenders/contender.ts';
import { workloads } from '../tasks/tasks.ts';
import type { MeasurerMessage } from './turn.ts';

/** The time limit of a turn. The first turn may include filling a large registry. */
const LIMIT_MS = 900_000;

export interface Measured {
  name: string;
  figures?: Figures;
  /** The MCP revision that it used with a server in its process. */
  revision?: string | undefined;
  /** Why it has no figures. */
  failure?: string;
}

interface Measuring {
  work: string;
  names: readonly string[];
  effort: Effort;
}

export async function measureInTurns({ work, names, effort }: Measuring): Promise<Measured[]> {
  if (names.length === 0) return [];
  const server = await workloads[work]?.startServer?.().catch((error: Error) => error);
  if (server instanceof Error) return names.map((name) => ({ name, failure: server.message }));
  const contenders = names.map((name) => new MeasuringProcess({ work, name, effort, serverUrl: server?.url }));
  // contenders that have not finished when the server ends have failed
  server?.ended.then((failure) => {
    for (const contender of contenders) contender.fail(failure);
  });
  try {
    await Promise.all(contenders.map((contender) => contender.turnEnded()));
    for (let left = contenders; left.length > 0; left = left.filter(({ outcome }) => !outcome)) {
      const areAllWarm = left.every(({ isWarm }) => isWarm);
      for (const contender of left) await contender.takeTurn(areAllWarm);
    }
    return contenders.map(({ name, outcome }) => ({ name, ...outcome }));
  } finally {
    for (const contender of contenders) contender.end();
    server?.end();
  }
}

interface MeasuringOptions {
  work: string;
  name: string;
  effort: Effort;
  serverUrl: string | undefined;
}

/** One contender in its own process, whose output is shown only if it fails. */
class MeasuringProcess {
  readonly name: string;
  outcome: Omit<Measured, 'name'> | undefined;
  isWarm = false;
  readonly #child: ChildProcess;
  #turnOver = Promise.withResolvers<void>();
  #errors = '';

  constructor({ work, name, effort, serverUrl }: MeasuringOptions) {
    this.name = name;
    const args = [work, name, JSON.stringify(effort), ...(serverUrl ? [serverUrl] : [])];
    const child = fork(fileURLToPath(new URL('child.ts', import.meta.url)), args, {
      execArgv: [...process.execArgv, '--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    child.stderr?.on('data', (chunk) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-2_000);
    });
    child.on('message', (message: MeasurerMessage) => {
      if ('figures' in message) this.outcome = message;
      else this.isWarm = message.isWarm;
      this.#turnOver.resolve();
    });
    child.once('close', (code, signal) => {
      const reason = /\w*Error( \[\w+\])?: [^\n]+/.exec(this.#errors)?.[0] ?? this.#errors.split('\n', 1)[0];
      this.outcome ??= { failure: `${signal ?? `exit ${code}`}: ${reason}` };
      this.#turnOver.resolve();
    });
  }

  /** Waits until the process is ready for its first turn. */
  async turnEnded(): Promise<void> {
    const timer = setTimeout(() => this.fail(`its turn did not end within ${LIMIT_MS / 1_000} s`), LIMIT_MS);
    await this.#turnOver.promise;
    clearTimeout(timer);
  }

  /** Lets it work until it pauses or finishes. */
  async takeTurn(areAllWarm: boolean): Promise<void> {
    if (this.outcome) return; // it ended during another contender's turn
    this.#turnOver = Promise.withResolvers();
    this.#child.send(areAllWarm, () => {}); // if the process has ended, its close event says so
    await this.turnEnded();
  }

  fail(failure: string): void {
    this.outcome ??= { failure };
    this.end();
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
