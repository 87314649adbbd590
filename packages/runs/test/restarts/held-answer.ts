// A network that is slow at one point: PostgreSQL answers a certain statement, and the answer arrives when the test allows it.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface HeldAnswer {
  /** The database through this network. */
  url: string;
  /** Resolves when PostgreSQL was sent the statement for the first time. From then on, its answer is held back. */
  held: Promise<void>;
  /** Resolves when the statement was sent again. */
  sentAgain: Promise<void>;
  release(): void;
  close(): void;
}

export async function holdAnswer(url: string, statement: string): Promise<HeldAnswer> {
  const target = new URL(url);
  const [held, sentAgain, released] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  if (!held || !sentAgain || !released) throw new Error('no promises');
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    let isOpen = Promise.resolve();
    client.on('data', (data) => {
      if (data.includes(statement)) {
        count++;
        if (count === 1) {
          isOpen = released.promise;
          held.resolve();
        } else sentAgain.resolve();
      }
      database.write(data);
    });
    database.on('data', (data) => void isOpen.then(() => client.write(data)));
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    held: held.promise,
    sentAgain: sentAgain.promise,
    release: released.resolve,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
