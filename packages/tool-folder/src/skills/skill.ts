// The file name of skills, and the position of each skill's name, for reports of duplicate names.
import { join } from 'node:path';
import type { Skill } from 'pocket-agent';
import { describeValue, type ManifestProblem } from '../manifest/problem.ts';

export const SKILL_FILE = 'SKILL.md';

type Position = Pick<ManifestProblem, 'line' | 'column'>;

const namePositions = new WeakMap<Skill, Position>();

export function setNamePosition(skill: Skill, position: Position): void {
  namePositions.set(skill, position);
}

/** The problem that `skill` is not offered because `other` has its name. */
export function duplicateName(skill: Skill, other: Skill): ManifestProblem {
  const { line, column } = namePositions.get(skill) ?? { line: 1, column: 1 };
  const found = `${describeValue(skill.name)} again, as in ${other.path}`;
  return { file: join(skill.path, SKILL_FILE), line, column, found, expected: 'a different name for each skill' };
}
