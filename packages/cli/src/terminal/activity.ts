// The status line below everything else that shows what a run is waiting for.

import { printable } from '@pocket-agent/kit';
import type { AgentEvent, ServerStatus } from 'pocket-agent';
import type { Screen } from './screen.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
/** After this time the line shows the seconds. */
const SHOW_SECONDS_MS = 2_000;
const MAX_NAMES = 3;

export class Activity {
  readonly #changed: () => void;
  readonly #connecting = new Set<string>();
  readonly #tools = new Map<string, string>();
  #isThinking = false;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** `changed` is called whenever the line changes. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Undefined if the run waits for nothing. */
  get line(): string | undefined {
    const description = this.#description();
    if (description === undefined) return undefined;
    return activityLine(description, this.#since);
  }

  handle(event: AgentEvent): void {
    const before = this.#description();
    this.#note(event);
    const now = this.#description();
    if (now === before) return;
    this.#since = performance.now();
    if (now === undefined) this.#stop();
    else this.#timer ??= setInterval(this.#changed, FRAME_MS).unref();
    this.#changed();
  }

  end(): void {
    this.#isThinking = false;
    this.#connecting.clear();
    this.#tools.clear();
    this.#stop();
  }

  #note(event: AgentEvent): void {
    switch (event.type) {
      case 'server_status':
        if (event.data.status === 'connecting') this.#connecting.add(event.data.server);
        else this.#connecting.delete(event.data.server);
        break;
      case 'tool_call':
        this.#tools.set(event.data.toolCallId, event.data.toolName);
        break;
      case 'tool_result':
        this.#tools.delete(event.data.toolCallId);
        break;
      case 'step_started':
        this.#isThinking = true;
        break;
      case 'text_delta':
      case 'new_message':
      case 'step_finished':
        this.#isThinking = false;
        break;
    }
  }

  /** A slow server may still be connecting while the model is called without its tools. */
  #description(): string | undefined {
    if (this.#tools.size > 0) return `running ${listNames(this.#tools.values())}`;
    if (!this.#isThinking) return undefined;
    return this.#connecting.size > 0 ? `thinking · connecting to ${listNames(this.#connecting)}` : 'thinking';
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

type ServerStates = ReadonlyMap<string, { status: ServerStatus }>;

/** Shows which servers are connecting, for commands without a run. */
export async function whileConnecting<Value>(
  screen: Screen,
  servers: () => ServerStates,
  work: Promise<Value>,
): Promise<Value> {
  const since = performance.now();
  const show = () => {
    const names = [...servers()].flatMap(([name, { status }]) => (status === 'connecting' ? [name] : []));
    screen.status(names.length > 0 ? [activityLine(`connecting to ${listNames(names)}`, since)] : []);
  };
  const timer = setInterval(show, FRAME_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    screen.status([]);
  }
}

/** A listener that reports servers that are slow to connect. */
export function reportSlowServer(tell: (line: string) => void) {
  return (server: string, status: ServerStatus, reason?: string) => {
    if (status === 'connecting' && reason !== undefined) tell(`server ${server}: ${reason}`);
  };
}

function activityLine(doing: string, since: number): string {
  const elapsed = performance.now() - since;
  const frame = FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length];
  return `${frame} ${doing}${elapsed < SHOW_SECONDS_MS ? '' : ` · ${Math.floor(elapsed / 1_000)} s`}`;
}

function listNames(names: Iterable<string>): string {
  const all = [...new Set(names)].map((name) => printable(name, 40));
  const more = all.length > MAX_NAMES ? ` and ${all.length - MAX_NAMES} more` : '';
  return `${all.slice(0, MAX_NAMES).join(', ')}${more}`;
}
