// Executes the instructions of a Dockerfile without Docker. Each stage is a folder that stands for `/`, and commands run with
// the Node of this process. Unknown instructions and flags are errors, so that none is ignored.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import { type Instruction, parseDockerfile, splitFlags } from './parse.ts';

/** The time limit of a command. */
const RUN_MS = 300_000;

export interface Stage {
  /** The folder that stands for `/`. */
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  command: string[];
  /** The shell command of HEALTHCHECK. */
  health?: string;
}

interface BuildOptions {
  /** The folder of the Dockerfile. */
  context: string;
  /** An empty folder for the stages. */
  into: string;
  /** The environment of commands: PATH, and what npm needs. */
  env: Record<string, string>;
}

/** Returns the last stage, which is the image. */
export function buildImage(options: BuildOptions): Stage {
  const build = new Build(options);
  for (const instruction of parseDockerfile(readFileSync(join(options.context, 'Dockerfile'), 'utf8'))) {
    try {
      build.execute(instruction);
    } catch (error) {
      const { line, name, text } = instruction;
      throw new Error(`Dockerfile:${line}: ${name} ${text}`, { cause: error });
    }
  }
  return build.stage;
}

class Build {
  readonly #options: BuildOptions;
  readonly #ignored: readonly string[];
  readonly #stages = new Map<string, Stage>();
  #stage: Stage | undefined;

  constructor(options: BuildOptions) {
    this.#options = options;
    this.#ignored = readIgnored(options.context);
  }

  get stage(): Stage {
    if (!this.#stage) throw new Error('The first instruction must be FROM.');
    return this.#stage;
  }

  execute({ name, text }: Instruction): void {
    if (name === 'FROM') this.#from(text);
    else if (name === 'WORKDIR') this.#workdir(text);
    else if (name === 'ENV') this.#env(text);
    else if (name === 'COPY') this.#copy(text);
    else if (name === 'RUN') this.#run(text);
    else if (name === 'USER') this.stage.user = text;
    else if (name === 'HEALTHCHECK') this.#healthcheck(text);
    else if (name === 'CMD') this.stage.command = JSON.parse(text);
    else if (name !== 'EXPOSE') throw new Error(`This script cannot execute ${name}.`);
  }

  /** Accepts only images of Node, whose commands are node, npm and a shell. */
  #from(text: string): void {
    const [, name = String(this.#stages.size)] = /^node:24-(?:alpine|slim)(?: AS (\S+))?$/.exec(text) ?? fail(text);
    const root = join(this.#options.into, name);
    mkdirSync(root, { recursive: true });
    this.#stage = { root, workdir: '/', env: {}, user: 'root', command: [] };
    this.#stages.set(name, this.#stage);
  }

  #workdir(text: string): void {
    if (!isAbsolute(text)) fail(text);
    this.stage.workdir = text;
    mkdirSync(join(this.stage.root, text), { recursive: true });
  }

  #env(text: string): void {
    for (const pair of text.split(/\s+/)) {
      const [, name = '', value = ''] = /^(\w+)=([\w.:/-]*)$/.exec(pair) ?? fail(pair);
      this.stage.env[name] = value;
    }
  }

  #copy(text: string): void {
    const { flags, words } = splitFlags(text);
    const { from, ...unknown } = Object.fromEntries(flags);
    if (Object.keys(unknown).length > 0) fail(Object.keys(unknown).join(', '));
    const target = words.pop() ?? fail(text);
    const sources = words.flatMap((word) => (from === undefined ? this.#inContext(word) : [this.#inStage(from, word)]));
    const isFolder = /[./]$/.test(target) || sources.length > 1;
    const into = join(this.stage.root, isAbsolute(target) ? target : join(this.stage.workdir, target));
    for (const source of sources) {
      const isFile = statSync(source).isFile();
      const to = isFile && isFolder ? join(into, basename(source)) : into;
      const filter = (path: string) => from !== undefined || !this.#isIgnored(path);
      cpSync(source, to, { recursive: true, filter, verbatimSymlinks: true });
    }
  }

  #inStage(name: string, path: string): string {
    const { root } = this.#stages.get(name) ?? fail(`There is no stage "${name}".`);
    return join(root, path);
  }

  /** Fails for files that are missing or ignored, as Docker does. */
  #inContext(pattern: string): string[] {
    const { context } = this.#options;
    const found = pattern === '.' ? [context] : globSync(pattern, { cwd: context }).map((file) => join(context, file));
    const copied = found.filter((file) => !this.#isIgnored(file));
    return copied.length > 0 ? copied : fail(`${pattern} is not in the context.`);
  }

  #isIgnored(path: string): boolean {
    const [first = ''] = relative(this.#options.context, path).split('/');
    return this.#ignored.includes(first);
  }

  #run(command: string): void {
    const { root, workdir, env, user } = this.stage;
    if (user !== 'root') fail('RUN after USER');
    console.log(`   RUN ${command}`);
    const options = { cwd: join(root, workdir), env: { ...this.#options.env, ...env }, timeout: RUN_MS } as const;
    execFileSync('sh', ['-c', command], { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  }

  #healthcheck(text: string): void {
    const [, command] = /^(?:--\S+ )*CMD (.+)$/.exec(text) ?? fail(text);
    this.stage.health = command ?? fail(text);
  }
}

/** Names of ignored files and folders. Patterns are not supported. */
function readIgnored(context: string): string[] {
  const file = join(context, '.dockerignore');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => (/^[\w.-]+$/.test(line) ? line : fail(`.dockerignore: ${line}`)));
}

function fail(text: string): never {
  throw new Error(`This script cannot execute: ${text}`);
}
