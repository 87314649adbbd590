// Runs that wait, for tests.
import { expect } from 'vitest';
import type { Question, Runs } from '../src/index.ts';

export async function firstQuestion(runs: Runs): Promise<Question> {
  await expect.poll(() => runs.questions()).toHaveLength(1);
  const [question] = await runs.questions();
  if (!question) throw new Error('There is no question.');
  return question;
}

/** Resolves when a run waits, with nothing of it left in a process. */
export async function waits(runs: Runs, id: string): Promise<void> {
  await expect.poll(async () => (await runs.get(id))?.status).toBe('waiting');
}
