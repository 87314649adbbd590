// Opens the runs in a database, and begins to advance them if this process has agents.
import { stderrLogger } from '@pocket-agent/kit';
import { openStore, type Store } from '@pocket-agent/store';
import type { PocketAgent } from 'pocket-agent';
import { EmbeddedEngine } from './engines/embedded-engine.ts';
import type { Engine } from './engines/engine.ts';
import { loadPgBoss, PostgresEngine } from './engines/postgres-engine.ts';
import { Changes } from './journal/changes.ts';
import type { RunStore } from './journal/journal.ts';
import { LiveEvents } from './journal/live-events.ts';
import { type RunsOptions, readRunsOptions } from './journal/options.ts';
import { Questions } from './journal/questions.ts';
import { Schedules } from './journal/schedules.ts';
import { type RunsSchema, runTables } from './journal/schema.ts';
import { Runs } from './runs.ts';

const DEFAULT_PARALLEL_RUNS = 10;

/** Opens the runs in a SQLite file or in PostgreSQL. With `agents`, this process also advances them, beginning with those of a process that ended. */
export async function openRuns(options: RunsOptions): Promise<Runs> {
  const {
    url,
    file,
    maxParallelRuns = DEFAULT_PARALLEL_RUNS,
    maxParallelRunsPerCaller,
    logger = stderrLogger(),
    ...read
  } = readRunsOptions(options);
  const agents = new Map<string, PocketAgent<unknown>>();
  let opened: Store<RunsSchema> | undefined;
  let engine: Engine | undefined;
  try {
    for (const [name, make] of Object.entries(read.agents ?? {})) agents.set(name, await make());
    opened = await openStore<RunsSchema>({ url, file, ...runTables });
    const store: RunStore = { ...opened, queued: async (...queued) => engine?.queued(...queued) };
    const changes = new Changes(store.db);
    const live = new LiveEvents();
    const questions = new Questions(store, read.questionsExpireAfterMs);
    const schedules = new Schedules(store);
    const worker = {
      store,
      questions,
      schedules,
      changes,
      live,
      agents,
      maxParallelRuns,
      maxParallelRunsPerCaller,
      logger,
    };
    if (url === undefined) engine = new EmbeddedEngine(file ?? '', worker);
    else engine = new PostgresEngine(worker, await loadPgBoss(url, worker));
    await engine.start();
    return new Runs({ store, questions, schedules, changes, live, agents, engine });
  } catch (error) {
    // report the first error
    await engine?.close(0).catch(() => {});
    for (const agent of agents.values()) await agent.close();
    await opened?.close().catch(() => {});
    throw error;
  }
}
