// node:http and node:https, loaded with the first request. `import` reads every export of a built-in module, and one
// of node:http's loads the whole of undici: 50 ms that getBuiltinModule does not spend.

export function nodeHttp(): typeof import('node:http') {
  return process.getBuiltinModule('node:http');
}

export function nodeHttps(): typeof import('node:https') {
  return process.getBuiltinModule('node:https');
}
