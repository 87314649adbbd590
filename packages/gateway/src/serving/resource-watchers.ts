// Clients of the 2025 era that watch resources, by their server object.
import type { Server } from '@modelcontextprotocol/server';

interface Watcher {
  caller: string;
  end(): void;
}

export class ResourceWatchers {
  readonly #servers = new Map<Server, Map<string, Watcher>>();

  add(server: Server, uri: string, watcher: Watcher): void {
    const watched = this.#servers.get(server) ?? new Map<string, Watcher>();
    this.#servers.set(server, watched);
    watched.get(uri)?.end();
    watched.set(uri, watcher);
  }

  remove(server: Server, uri: string): void {
    const watched = this.#servers.get(server);
    watched?.get(uri)?.end();
    watched?.delete(uri);
  }

  /** Ends the watches of a client that has gone. */
  drop(server: Server): void {
    for (const { end } of this.#servers.get(server)?.values() ?? []) end();
    this.#servers.delete(server);
  }

  /** Tells the clients of one caller, or of all, that a resource has changed. */
  tell(uri: string, forCaller: string | undefined): void {
    for (const [server, watched] of this.#servers) {
      const watcher = watched.get(uri);
      if (!watcher || (forCaller !== undefined && forCaller !== watcher.caller)) continue;
      server.sendResourceUpdated({ uri }).catch(() => {}); // the client may be gone
    }
  }
}
