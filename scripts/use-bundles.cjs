// Preloaded by programs that tests start: resolves our packages and programs to the bundles that test-programs.ts made.
const { registerHooks } = require('node:module');

const { modules } = require('../node_modules/.cache/test-programs/current.json');

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const bundle = modules[found.url];
    return bundle ? { ...found, url: bundle, format: 'module' } : found;
  },
});
