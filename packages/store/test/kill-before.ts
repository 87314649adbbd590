// For programs of tests: the process kills itself before a statement on a database.
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';

/** `isLast` gets the text of each statement and its number, from 1. */
export function killBefore(isLast: (statement: string, number: number) => boolean): void {
  let count = 0;
  const countBefore = <Method extends (...args: never[]) => unknown>(
    method: Method,
    textOf: (self: unknown, args: readonly unknown[]) => unknown,
  ) =>
    function (this: unknown, ...args: never[]): unknown {
      if (isLast(String(textOf(this, args)), ++count)) process.kill(process.pid, 'SIGKILL');
      return method.apply(this, args);
    };
  const { exec } = DatabaseSync.prototype;
  const { run, all } = StatementSync.prototype;
  const { query } = pg.Client.prototype;
  const sourceOf = (self: unknown) => (self instanceof StatementSync ? self.sourceSQL : '');
  DatabaseSync.prototype.exec = countBefore(exec, (_self, [text]) => text) as typeof exec;
  StatementSync.prototype.run = countBefore(run, sourceOf) as typeof run;
  StatementSync.prototype.all = countBefore(all, sourceOf) as typeof all;
  pg.Client.prototype.query = countBefore(query, (_self, [given]) =>
    typeof given === 'object' && given !== null && 'text' in given ? given.text : given,
  ) as typeof query;
}
