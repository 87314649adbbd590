// Webhooks of durable tasks in a folder, so that they outlive the process. One private file for each task.
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, isRecord, KeyedQueue, type Logger, sha256 } from '@pocket-agent/kit';
import { makePrivateFolder, writePrivately } from '@pocket-agent/kit/private-files';
import type { PushConfig } from '../wire/task.ts';

/** The webhooks of one task that still have to be told about it. */
export interface SavedWebhooks {
  callerId: string;
  tenant: string;
  taskId: string;
  webhooks: { config: PushConfig; version: string; issuer: string }[];
}

export class WebhookFiles {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #writes = new KeyedQueue();

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /** Replaces what is saved of the task; without webhooks its file is removed. A failure is logged. */
  async save(saved: SavedWebhooks): Promise<void> {
    const file = this.#fileOf(saved);
    const content = saved.webhooks.length > 0 ? JSON.stringify(saved) : undefined;
    try {
      await this.#writes.run(file, () =>
        content === undefined ? rm(file, { force: true }) : writePrivately(file, content),
      );
    } catch (error) {
      this.#logger.error(`The webhooks of task ${saved.taskId} cannot be saved: ${errorText(error)}`);
    }
  }

  async load(): Promise<SavedWebhooks[]> {
    await makePrivateFolder(this.#folder);
    const names = (await readdir(this.#folder)).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));
    const found: SavedWebhooks[] = [];
    for (const name of names) {
      const saved = await this.#read(join(this.#folder, name));
      if (saved) found.push(saved);
    }
    return found;
  }

  async settled(): Promise<void> {
    await this.#writes.idle();
  }

  async #read(file: string): Promise<SavedWebhooks | undefined> {
    try {
      const saved: unknown = JSON.parse(await readFile(file, 'utf8'));
      if (isRecord(saved) && Array.isArray(saved.webhooks)) return saved as unknown as SavedWebhooks;
      throw new Error('it has no webhooks');
    } catch (error) {
      this.#logger.error(`The webhooks in ${file} cannot be read: ${errorText(error)}`);
      return undefined;
    }
  }

  #fileOf({ tenant, callerId, taskId }: SavedWebhooks): string {
    return join(this.#folder, `${sha256(JSON.stringify([tenant, callerId, taskId]))}.json`);
  }
}
