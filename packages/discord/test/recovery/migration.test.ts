// Migration of SQLite files.
import { join } from 'node:path';
import { temporaryFolder } from '../support/start-bot.ts';
import { testMigration } from './migration-behaviour.ts';

testMigration(async () => ({ file: join(await temporaryFolder(), 'bot.db') }));
