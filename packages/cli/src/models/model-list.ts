// The rows of `pocket-agent models`: providers with packages and keys, and models with context window and price.
import { printable } from '@pocket-agent/kit';
import type { ModelPrice } from 'pocket-agent';
import {
  contextWindowOf,
  installCommand,
  isInstalled,
  type KnownProvider,
  keyVariable,
  listedModels,
  missingVariable,
  priceOf,
  providerByPrefix,
  providerOf,
} from 'pocket-agent/internal';
import { ollamaModels } from '../setup/choose-model.ts';
import { columns } from '../terminal/text-width.ts';
import { abilitiesOf, isLanguageModel, type ModelAbilities } from './model-abilities.ts';

export interface ProviderRow {
  provider: string;
  package: string;
  installed: boolean;
  /** The variable that has the key. */
  key: string | undefined;
  /** The variable to set before its models can be used. */
  missing: string | undefined;
}

export interface ModelRow extends ModelAbilities {
  model: string;
  /** In tokens. */
  contextWindow: number | undefined;
  /** In USD per million tokens. */
  price: ModelPrice | undefined;
}

export function providerRow(provider: KnownProvider): ProviderRow {
  const { prefix, packageName } = provider;
  const [key, missing] = [keyVariable(provider), missingVariable(provider)];
  return { provider: prefix, package: packageName, installed: isInstalled(provider), key, missing };
}

/** Whether a model of the provider can be called now. */
export function isUsable({ installed, missing }: ProviderRow): boolean {
  return installed && missing === undefined;
}

export function providerTable(rows: readonly ProviderRow[]): string[] {
  return columns([
    ['provider', 'key', 'package'],
    ...rows.map((row) => [row.provider, keyText(row), row.installed ? row.package : installCommand(row.package)]),
  ]);
}

function keyText({ key, missing }: ProviderRow): string {
  if (missing !== undefined) return `set ${missing}`;
  return key === undefined ? 'no key needed' : `${key} is set`;
}

/** The models that a name stands for: all known ones of a provider, or the one model. */
export async function modelNames(name: string): Promise<string[]> {
  const provider = providerByPrefix(name);
  if (!provider) return [name];
  const { prefix } = provider;
  if (prefix === 'ollama') return (await ollamaModels()).map((id) => `${prefix}/${id}`);
  // the table lists models of Vertex and of Gemini under one provider
  const isOther = (id: string) => !isLanguageModel(id) || (prefix === 'google' && id.startsWith('claude'));
  const ids = await listedModels(prefix);
  return ids.filter((id) => !isOther(id)).map((id) => `${prefix}/${id}`);
}

export async function modelRow(model: string): Promise<ModelRow> {
  const identity = { provider: providerOf(model) ?? 'pocket-agent', modelId: model.slice(model.indexOf('/') + 1) };
  const price = await priceOf(identity);
  return { model, contextWindow: await contextWindowOf(identity), price, ...abilitiesOf(model) };
}

export function modelTable(rows: readonly ModelRow[]): string[] {
  return columns([
    ['model', 'context', 'input', 'output', 'tools', 'images'],
    ...rows.map(({ model, contextWindow, price, tools, images }) => [
      printable(model),
      contextWindow?.toLocaleString('en-US') ?? '?',
      usd(price?.input),
      usd(price?.output),
      yesNo(tools),
      yesNo(images),
    ]),
  ]);
}

function usd(amount: number | undefined): string {
  return amount === undefined ? '?' : `$${Number(amount.toPrecision(4))}`;
}

function yesNo(value: boolean | undefined): string {
  if (value === undefined) return '?';
  return value ? 'yes' : 'no';
}
