// Reads the YAML file of `pocket-agent eval`. Problems are reported with line and column.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { problemText } from '@pocket-agent/tool-folder';
import { describedSchema, describeValue, YamlFile } from '@pocket-agent/tool-folder/internal';
import { checkForeign, type JsonSchema, profiles } from 'pocket-agent';
import { z } from 'zod';
import { hasCode } from '../files/error-code.ts';

const profileNames = Object.keys(profiles) as (keyof typeof profiles)[];

const text = (about: string) => z.string().min(1).describe(about);
const texts = (about: string) => z.union([z.string().min(1), z.array(z.string().min(1))]).describe(about);
const count = (about: string) => z.int().min(1).describe(about);
/** A higher number is a mistake, and all results are kept until the end. */
export const MAX_REPEATS = 1_000;
const repeatCount = (about: string) => z.int().min(1).max(MAX_REPEATS).describe(`${about}, 1 to ${MAX_REPEATS}`);

const graded = z
  .strictObject({
    question: text('a question about the answer that a good answer makes true, such as "Does it name the capital?"'),
    model: text('the model that grades, such as openai/gpt-5.4-mini').optional(),
  })
  .describe('a mapping with question and model');

const checks = z
  .strictObject({
    contains: texts('a string that the answer contains, or a list of them').optional(),
    matches: texts('a regular expression that the answer matches, or a list of them').optional(),
    schema: z.record(z.string(), z.unknown()).describe('a JSON Schema that the answer, read as JSON, fits').optional(),
    tools: z
      .array(text('the name of a tool'))
      .describe('a list of tools that are called in this order, with others in between')
      .optional(),
    notTools: z.array(text('the name of a tool')).describe('a list of tools that are not called').optional(),
    maxCostUsd: z.number().positive().describe('a number of US dollars greater than 0').optional(),
    maxSteps: count('a whole number of model calls, 1 or more').optional(),
    graded: graded.optional(),
  })
  .describe('a mapping with contains, matches, schema, tools, notTools, maxCostUsd, maxSteps or graded');

const evalCase = z
  .strictObject({
    name: text('a name for the case; default: its prompt').optional(),
    prompt: text('the prompt'),
    files: z.array(text('a path or a URL')).describe('a list of files or URLs for the model').optional(),
    profile: z
      .enum(profileNames)
      .describe(`one of ${profileNames.join(', ')}`)
      .optional(),
    repeats: repeatCount('a whole number of runs').optional(),
    checks,
  })
  .describe('a case: a mapping with prompt and checks');

const evalSchema = z
  .strictObject({
    agent: text('the path of an agent file, or of a module that exports agents').optional(),
    model: text('a model such as openai/gpt-5.4-mini').optional(),
    grader: text('the model that grades; default: the model that answers').optional(),
    repeats: repeatCount('a whole number of runs for each case').optional(),
    cases: z.array(evalCase).min(1).describe('a list of cases, each with prompt and checks'),
  })
  .describe('a mapping with cases');

export type Checks = z.infer<typeof checks>;

export interface EvalCase {
  name: string;
  prompt: string;
  /** Absolute paths, or URLs. */
  files: readonly string[];
  profile?: keyof typeof profiles;
  repeats: number;
  checks: Checks;
}

export interface EvalFile {
  file: string;
  /** An absolute path. */
  agent?: string;
  model?: string;
  cases: readonly EvalCase[];
}

type YamlEval = YamlFile<z.infer<typeof evalSchema>>;

export async function readEvalFile(file: string): Promise<EvalFile> {
  const source: YamlEval = new YamlFile({ file, text: await readText(file), schema: describedSchema(evalSchema) });
  const { value } = source;
  if (value) {
    reportNames(source, value.cases);
    reportFiles(source, value.cases);
    await reportChecks(source, value.cases);
  }
  if (!value || source.problems.length > 0)
    throw new PocketError('CONFIG_INVALID', source.problems.map(problemText).join('\n'));
  const { agent, model, grader, repeats = 1 } = value;
  return {
    file,
    ...(agent === undefined ? {} : { agent: pathFrom(file, agent) }),
    ...(model === undefined ? {} : { model }),
    cases: value.cases.map(({ name, files = [], checks, profile, ...rest }) => ({
      repeats,
      ...rest,
      name: name ?? rest.prompt,
      files: files.map((path) => (isUrl(path) ? path : pathFrom(file, path))),
      ...(profile === undefined ? {} : { profile }),
      checks: checks.graded && grader ? { ...checks, graded: { model: grader, ...checks.graded } } : checks,
    })),
  };
}

/** A check that names one value or a list. */
export function listOf(given: string | readonly string[] | undefined): readonly string[] {
  return typeof given === 'string' ? [given] : (given ?? []);
}

type YamlCase = z.infer<typeof evalCase>;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? `There is no file ${file}.` : `Cannot read ${file}: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', `${reason} Give a YAML file with cases.`, { cause: error });
  }
}

function reportNames(source: YamlEval, cases: readonly YamlCase[]): void {
  const names = cases.map(({ name, prompt }) => name ?? prompt);
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) === index) continue;
    const path = ['cases', index, cases[index]?.name === undefined ? 'prompt' : 'name'];
    source.report(path, { found: `a second case ${describeValue(name)}`, expected: 'another name' });
  }
}

function reportFiles(source: YamlEval, cases: readonly YamlCase[]): void {
  for (const [index, { files = [] }] of cases.entries()) {
    for (const [place, path] of files.entries()) {
      if (isUrl(path) || existsSync(pathFrom(source.file, path))) continue;
      source.report(['cases', index, 'files', place], {
        found: `${describeValue(path)}, which does not exist`,
        expected: 'a path relative to this file, or a URL',
      });
    }
  }
}

async function reportChecks(source: YamlEval, cases: readonly YamlCase[]): Promise<void> {
  for (const [index, { checks }] of cases.entries()) {
    const path = ['cases', index, 'checks'];
    if (Object.keys(checks).length === 0) source.report(path, { found: 'no checks', expected: 'at least one check' });
    for (const pattern of listOf(checks.matches)) {
      const problem = patternProblem(pattern);
      if (problem)
        source.report([...path, 'matches'], {
          found: `${describeValue(pattern)} (${problem})`,
          expected: 'a regular expression',
        });
    }
    const problem = checks.schema && (await schemaProblem(checks.schema));
    if (problem) source.report([...path, 'schema'], { found: problem, expected: 'a JSON Schema' });
  }
}

function patternProblem(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

async function schemaProblem(schema: JsonSchema): Promise<string | undefined> {
  const verdict = await checkForeign({ schema, origin: 'eval' });
  return 'invalid' in verdict ? `an invalid schema (${verdict.invalid})` : undefined;
}

function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

function pathFrom(file: string, path: string): string {
  return resolve(dirname(file), path);
}
