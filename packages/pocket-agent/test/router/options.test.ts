// A router refuses unknown options and suggests the one that was probably meant.
import { PocketError, Router, type RouterOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';

const model = new ScriptedModel([]);
const main = [{ modelName: 'main', params: { model } }];
const withParams = (params: object) => ({ models: [{ modelName: 'main', params: { model, ...params } }] });

function refusal(options: unknown): PocketError {
  try {
    new Router(options as RouterOptions);
  } catch (error) {
    if (error instanceof PocketError) return error;
    throw error;
  }
  throw new Error('accepted');
}

test.each([
  [undefined, 'Router: it needs its options: new Router({ models: [{ modelName, params }] }).'],
  ['main', 'Router: it needs its options'],
  [{ models: main, stratgy: 'x' }, 'Router has no option "stratgy". Did you mean "strategy"?'],
  [{ models: main, maxWait: 5 }, 'Router has no option "maxWait". Did you mean "maxWaitMs"?'],
  [{ models: main, colour: 'red' }, 'Router has no option "colour". Available: models, strategy,'],
  [{ models: [{ ...main[0], parms: 1 }] }, 'Router: models[0] has no option "parms". Did you mean "params"?'],
  [withParams({ rmp: 1 }), 'Router: params of "main" has no option "rmp". Did you mean "rpm"?'],
  [withParams({ baseURL: 'x' }), 'Router: params of "main" has no option "baseURL". Did you mean "baseUrl"?'],
  [withParams({ maxParalel: 1 }), 'Did you mean "maxParallel"?'],
  [withParams({ price: { input: 1, outptu: 2 } }), 'price has no option "outptu". Did you mean "output"?'],
  [withParams({ price: { input: 1 } }), 'price.output must be a number, in USD for a million tokens'],
  [withParams({ price: 3 }), 'price must be { input, output }, in USD for a million tokens, got 3.'],
  [
    withParams({ price: { input: Number.POSITIVE_INFINITY, output: 1 } }),
    'price: input must be a number, in USD for a million tokens, got Infinity.',
  ],
  [withParams({ price: { input: 1, output: 2, cacheWrite: Number.POSITIVE_INFINITY } }), 'price: cacheWrite must be'],
  [withParams({ headers: { a: 1 } }), 'params of "main": headers.a must be a string, got a number.'],
  [withParams({ id: 7 }), 'id must be a non-empty string, got 7.'],
  [{ models: main, sticky: 'false' }, 'Router: sticky must be true or false, got "false".'],
  [{ models: main, onEvent: true }, 'Router: onEvent must be a function'],
  [{ models: main, fallbacks: ['other'] }, 'Router: fallbacks must be an object'],
  [
    { models: main, strategy: 'least-bsuy' },
    'there is no strategy "least-bsuy". Did you mean "least-busy"? Available:',
  ],
])('%j', (options, words) => {
  expect(refusal(options)).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) });
});

test('a key that is not a string is refused without showing it', () => {
  const { message } = refusal(withParams({ apiKey: ['sk-secret'], model: 'openai/gpt-5-nano' }));
  expect(message).toBe('Router: params of "main": apiKey must be a string, got a list.');
});

test.each([
  ['of one model', ['m', 'm'], ['x', 'x'], 'x'],
  ['of two models', ['m', 'n'], ['x', 'x'], 'x'],
  ['when one has the default id of another', ['m', 'm'], ['m#2', undefined], 'm#2'],
])('two deployments %s cannot have one id', (_what, names, ids, id) => {
  const models = names.map((modelName, index) => ({ modelName, params: { model, id: ids[index] } }));
  expect(refusal({ models }).message).toBe(
    `Router: two deployments have the id "${id}". Give each an "id" of its own in its params.`,
  );
});

test('undefined options count as left out', () => {
  expect(new Router({ models: main, ...{ strategy: undefined, other: undefined } })).toBeInstanceOf(Router);
});

test('a misspelt model name gets a suggestion', () => {
  const words = 'Router: there is no model "mian". Did you mean "main"? Available: main.';
  expect(() => new Router({ models: main }).languageModel('mian')).toThrow(words);
  expect(refusal({ models: main, fallbacks: { main: ['mian'] } })).toMatchObject({
    code: 'MODEL_UNKNOWN',
    message: words,
  });
});
