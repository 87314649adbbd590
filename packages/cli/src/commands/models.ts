// The command `pocket-agent models`: lists model providers and keys, or models with context window and price.
import { PocketError, printable, printableJson } from '@pocket-agent/kit';
import { checkModelName, knownProviders, providerByPrefix } from 'pocket-agent/internal';
import { readArguments } from '../command-line/arguments.ts';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { checkModel } from '../models/model-check.ts';
import { isUsable, modelNames, modelRow, modelTable, providerRow, providerTable } from '../models/model-list.ts';

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, {
    all: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  });
  const { signal } = interrupts.listen();
  const providers = knownProviders.map(providerRow);
  if (positionals.length === 0 && !values.all) {
    if (values.check)
      throw new PocketError('CONFIG_INVALID', '--check needs the names of models, such as openai/gpt-5.');
    print(values.json ? providers.map(printableJson) : providerTable(providers));
    return exitCodes.answered;
  }
  if (values.check && values.all)
    throw new PocketError('CONFIG_INVALID', '--check calls models by name; leave --all out.');
  const usable = values.all ? providers.filter(isUsable).map(({ provider }) => provider) : [];
  const names = [...usable, ...positionals];
  for (const name of names) if (!providerByPrefix(name)) checkModelName(name);
  if (values.check) return check(positionals, { json: values.json, signal });
  const models = (await Promise.all(names.map(modelNames))).flat();
  const rows = await Promise.all(models.map(modelRow));
  print(values.json ? rows.map(printableJson) : modelTable(rows));
  return exitCodes.answered;
}

/** Models are called one after the other. Exit code 1 if one could not be called. */
async function check(names: readonly string[], { json, signal }: { json: boolean; signal: AbortSignal }) {
  let hasFailed = false;
  for (const name of names) {
    if (providerByPrefix(name)) {
      throw new PocketError('CONFIG_INVALID', `--check needs names of models, not "${name}": write ${name}/….`);
    }
    const { problem, ...abilities } = await checkModel(name, signal);
    hasFailed ||= problem !== undefined;
    const row = { ...(await modelRow(name)), tools: undefined, images: undefined, ...abilities };
    const note = problem === undefined ? [] : [printable(`${name}: ${problem}`)];
    print(json ? [printableJson({ ...row, problem })] : [...modelTable([row]), ...note]);
  }
  return hasFailed ? exitCodes.failed : exitCodes.answered;
}

function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}
