// Ends the server processes that are still running when this process ends, unless it is ended by SIGKILL.

interface Child {
  kill(): void;
}

/** One set of listeners serves all children. */
const running = new Set<Child>();
const killAll = () => running.forEach((child) => void child.kill());
const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const ours = Symbol.for('pocket-agent: ends children with the process');

/** A signal without a handler ends the process without 'exit'. A program that handles the signal decides itself. */
const endWithChildren = Object.assign(
  (signal: NodeJS.Signals) => {
    const others = process.listeners(signal).filter((listener) => !(ours in listener)).length;
    if (others > signalExitListeners()) return;
    killAll();
    for (const each of fatalSignals) process.removeListener(each, endWithChildren);
    process.kill(process.pid, signal);
  },
  { [ours]: true },
);

export function killAtExit(child: Child): void {
  if (running.size === 0) {
    process.on('exit', killAll);
    // first in line, to count also listeners that were added with `once`
    for (const signal of fatalSignals) process.prependListener(signal, endWithChildren);
  }
  running.add(child);
}

export function hasEnded(child: Child): void {
  if (!running.delete(child) || running.size > 0) return;
  process.removeListener('exit', killAll);
  for (const signal of fatalSignals) process.removeListener(signal, endWithChildren);
}

/** The package signal-exit, part of many programs, leaves the decision to other listeners too: its own do not count. */
function signalExitListeners(): number {
  const places = [
    Reflect.get(process, '__signal_exit_emitter__'),
    Reflect.get(globalThis, Symbol.for('signal-exit emitter')),
  ];
  return places.reduce((sum, emitter) => sum + (Number(emitter?.count) || 0), 0);
}
