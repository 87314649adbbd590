// A program for tests: opens the database of a bot, and can kill itself before a statement.
import { killBefore } from '../../../store/test/kill-before.ts';
import { openBotStore } from '../../src/store/schema.ts';

export interface MigratorOptions {
  database: { file: string } | { url: string };
  /** The statement matches this regular expression. */
  diesBefore?: string;
  /** The number of the statement, from 1. */
  diesAt?: number;
}

const { database, diesBefore, diesAt }: MigratorOptions = JSON.parse(process.argv[2] ?? '{}');
const isLast = (statement: string) => diesBefore !== undefined && new RegExp(diesBefore).test(statement);
killBefore((statement, number) => number === diesAt || isLast(statement));
const store = await openBotStore(database);
await store.close();
