// What views share: the store, the connection, the address, and work that may fail.
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useState } from 'preact/hooks';
import type { Connection } from '../connection.ts';
import type { Known, Store } from '../state/store.ts';

export const StudioContext = createContext<{ store: Store; connection: Connection } | undefined>(undefined);

function useStudio() {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error('A view is outside of StudioContext.');
  return studio;
}

export function useConnection(): Connection {
  return useStudio().connection;
}

export function useKnown(): Known {
  const { store } = useStudio();
  const [known, setKnown] = useState(store.known);
  useEffect(() => {
    setKnown(store.known);
    return store.subscribe(() => setKnown(store.known));
  }, [store]);
  return known;
}

/** The parts of the address after `#/`. */
export function useRoute(): string[] {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const update = () => setRoute(readRoute());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return route;
}

function readRoute(): string[] {
  return location.hash.replace(/^#\/?/, '').split('/').map(decodePart);
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function address(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** Runs work that may fail, and keeps its error to be shown where it happened. */
export function useAction(): { error: string; isBusy: boolean; act(work: () => Promise<unknown>): void } {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const act = useCallback((work: () => Promise<unknown>) => {
    setError('');
    setBusy(true);
    work()
      .catch((failure: unknown) => setError(failure instanceof Error ? failure.message : String(failure)))
      .finally(() => setBusy(false));
  }, []);
  return { error, isBusy, act };
}

/** The time, again after each interval; it stands still while `isOn` is false. */
export function useNow(everyMs: number, isOn = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isOn]);
  return now;
}

/** How often the state of other processes is polled. */
const REFRESH_MS = 2_000;

/** Polls an address of the studio. */
export function usePolled<Value>(path: string): { value: Value | undefined; error: string } {
  const connection = useConnection();
  const [value, setValue] = useState<Value>();
  const [error, setError] = useState('');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const ask = async () => {
      try {
        const found = await connection.get<Value>(path);
        if (isOver) return;
        setValue(found);
        setError('');
      } catch (failure) {
        if (!isOver) setError(failure instanceof Error ? failure.message : String(failure));
      }
      if (!isOver) timer = setTimeout(ask, REFRESH_MS);
    };
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [connection, path]);
  return { value, error };
}
