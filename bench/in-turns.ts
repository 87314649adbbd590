// Contenders measure side by side, one at a time: each in a process of its own that goes on when it is told to and
// stops after a moment. So a busy minute of the machine hits all of them.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Effort, Figures } from './contender.ts';
import type { Told } from './turn.ts';
import { works } from './works.ts';

/** For one turn; before its first a contender may fill a large registry. */
const LIMIT_MS = 900_000;

export interface Measured {
  name: string;
  figures?: Figures;
  /** Of MCP, where it was spoken with a server of its process. */
  revision?: string | undefined;
  /** Why there are no figures. */
  failure?: string;
}

interface Measuring {
  work: string;
  names: readonly string[];
  effort: Effort;
}

export async function measureInTurns({ work, names, effort }: Measuring): Promise<Measured[]> {
  if (names.length === 0) return [];
  const server = await works[work]?.startServer?.().catch((error: Error) => error);
  if (server instanceof Error) return names.map((name) => ({ name, failure: server.message }));
  const contenders = names.map((name) => new InTurn({ work, name, effort, serverUrl: server?.url }));
  // those who have not measured by then have no figures
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

interface Turn {
  work: string;
  name: string;
  effort: Effort;
  serverUrl: string | undefined;
}

/** One contender in a process whose output is shown only when it fails. */
class InTurn {
  readonly name: string;
  outcome: Omit<Measured, 'name'> | undefined;
  isWarm = false;
  readonly #child: ChildProcess;
  #turnOver = Promise.withResolvers<void>();
  #errors = '';

  constructor({ work, name, effort, serverUrl }: Turn) {
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
    child.on('message', (told: Told) => {
      if ('figures' in told) this.outcome = told;
      else this.isWarm = told.isWarm;
      this.#turnOver.resolve();
    });
    child.once('close', (code, signal) => {
      const reason = /\w*Error( \[\w+\])?: [^\n]+/.exec(this.#errors)?.[0] ?? this.#errors.split('\n', 1)[0];
      this.outcome ??= { failure: `${signal ?? `exit ${code}`}: ${reason}` };
      this.#turnOver.resolve();
    });
  }

  /** Or until it is there and waits for its first. */
  async turnEnded(): Promise<void> {
    const late = setTimeout(() => this.fail(`no turn of it ended within ${LIMIT_MS / 1_000} s`), LIMIT_MS);
    await this.#turnOver.promise;
    clearTimeout(late);
  }

  /** Until it pauses or is through. */
  async takeTurn(areAllWarm: boolean): Promise<void> {
    if (this.outcome) return; // it ended while others had theirs
    this.#turnOver = Promise.withResolvers();
    this.#child.send(areAllWarm, () => {}); // what ends meanwhile tells by closing
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
