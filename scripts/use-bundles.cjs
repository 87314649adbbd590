// Preloaded by programs that tests start: resolves our packages and programs to the bundles of test-programs.ts.
const children = require('node:child_process');
const { registerHooks, syncBuiltinESMExports } = require('node:module');
const threads = require('node:worker_threads');

const { modules } = require('../node_modules/.cache/test-programs/current.json');

// Tests import sources, also by relative paths, so that each module exists only once.
const isTestWorker = process.argv[1]?.includes('/vitest/');
if (!isTestWorker)
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const bundle = modules[found.url];
      return bundle ? { ...found, url: bundle, format: 'module' } : found;
    },
  });

// Threads and child processes with their own environment do not preload this file.
const bundleOf = (program) =>
  program instanceof URL && modules[program.href] ? new URL(modules[program.href]) : program;
const { fork } = children;
children.fork = (program, ...more) => fork(bundleOf(program), ...more);
threads.Worker = class Worker extends threads.Worker {
  constructor(program, options) {
    super(bundleOf(program), options);
  }
};
syncBuiltinESMExports();
