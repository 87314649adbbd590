// Chooses the model if none was given: by the API key that is set, a local Ollama, or the demo model.
import { knownProviders, providerByPrefix } from 'pocket-agent/internal';

export interface ChosenModel {
  model: string;
  because: string;
}

/** Without Ollama the connection is refused immediately; on a busy machine Ollama may be slow. */
const OLLAMA_TIMEOUT_MS = 5_000;

export async function chooseModel(requested: string | undefined): Promise<ChosenModel> {
  if (requested) return { model: requested, because: 'requested' };
  for (const { defaultModel: model, keyVariables } of knownProviders) {
    const key = keyVariables.find((variable) => process.env[variable]);
    if (model && key) return { model, because: `${key} is set` };
  }
  const [local] = await ollamaModels();
  if (local) return { model: `ollama/${local}`, because: 'Ollama runs on this machine' };
  return { model: 'demo', because: 'no API key is set and Ollama is not running; this is a set of rules, not an LLM' };
}

/** The models of a local Ollama; an empty list if none runs. */
export async function ollamaModels(): Promise<string[]> {
  const { urlVariables = [], defaultBaseUrl } = providerByPrefix('ollama') ?? {};
  const base = urlVariables.map((variable) => process.env[variable]).find(Boolean) ?? defaultBaseUrl;
  try {
    const response = await fetch(new URL('/api/tags', base), { signal: AbortSignal.timeout(OLLAMA_TIMEOUT_MS) });
    const body: unknown = await response.json();
    const models = typeof body === 'object' && body !== null && 'models' in body ? body.models : [];
    const names: unknown[] = Array.isArray(models) ? models.map((model) => model?.name) : [];
    return names.filter((name) => typeof name === 'string');
  } catch {
    return [];
  }
}
